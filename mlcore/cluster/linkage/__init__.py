"""Agglomerative clustering: clusters are merged pair by pair, by one of several linkages."""
