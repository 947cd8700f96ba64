"""Columns of samples: their kinds, and the categories of those of words."""
