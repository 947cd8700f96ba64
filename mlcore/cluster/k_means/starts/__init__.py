"""Initial centres of k-means."""
