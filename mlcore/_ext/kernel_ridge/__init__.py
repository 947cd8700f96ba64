"""Loops of mlcore.kernel_ridge."""
