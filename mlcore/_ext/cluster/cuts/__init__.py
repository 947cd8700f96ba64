"""Loops of mlcore.cluster.cuts."""
