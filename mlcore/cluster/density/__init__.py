"""Clusters as regions of high density: DBSCAN, and its hierarchy over all distances."""
