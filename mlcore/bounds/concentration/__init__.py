"""Concentration inequalities for averages and counts, and the relative entropies in them."""
