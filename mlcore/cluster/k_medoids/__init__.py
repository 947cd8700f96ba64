"""k-medoids: centres that are samples, for any dissimilarity."""
