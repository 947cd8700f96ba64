"""How far averages and counts stray from their expectations, and the entropies in the exponents."""
