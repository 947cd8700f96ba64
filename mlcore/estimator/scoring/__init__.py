"""Scores of held-out samples, and the choice of a candidate by them."""
