"""Loops of mlcore.cluster.k_means."""
