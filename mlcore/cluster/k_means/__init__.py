"""k-means and its kin: centres that are means or medians, whole data or small batches."""
