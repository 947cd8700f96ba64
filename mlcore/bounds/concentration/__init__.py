"""Deviations of averages and counts from their expectations, and the entropies in the exponents."""
