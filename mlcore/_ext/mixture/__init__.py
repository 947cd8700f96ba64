"""Loops of mlcore.mixture."""
