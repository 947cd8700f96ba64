"""Loops of mlcore.kernels."""
