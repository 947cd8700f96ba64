"""Loops of mlcore.bounds."""
