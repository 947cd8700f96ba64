"""Loops of mlcore.numerics."""
