"""Cuts of graphs: minimum cuts, and the values of partitions."""
