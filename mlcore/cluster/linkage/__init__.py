"""Agglomerative clustering: the nearest clusters are merged, by one of several linkages."""
