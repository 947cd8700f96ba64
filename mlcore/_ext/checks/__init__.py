"""Loops of mlcore.checks."""
