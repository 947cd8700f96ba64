"""Loops of mlcore.runtime."""
