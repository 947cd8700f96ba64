"""Canonical correlation analysis of two blocks of features, or of two views by kernels."""
