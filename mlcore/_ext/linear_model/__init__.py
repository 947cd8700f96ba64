"""Loops of mlcore.linear_model."""
