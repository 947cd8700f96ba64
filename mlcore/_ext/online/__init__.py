"""Loops of mlcore.online."""
