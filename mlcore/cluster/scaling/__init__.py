"""Matrices scaled to given row and column sums: entropic optimal transport."""
