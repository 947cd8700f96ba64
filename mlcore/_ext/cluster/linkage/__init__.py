"""Loops of mlcore.cluster.linkage."""
