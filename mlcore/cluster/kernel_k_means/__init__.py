"""Kernel k-means: means in the feature space of a kernel."""
