"""Spectral and probabilistic clustering: graphs of affinities, and partitions read from them."""
