"""Kernels and features of samples that are no vectors: documents, sets, models of rows."""
