"""Doubly stochastic matrices: scaled to unit sums, or nearest in the Frobenius norm."""
