"""Loops of mlcore.cluster."""
