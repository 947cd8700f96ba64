"""Cuts of graphs: their values, and the least of them."""
