"""Declarations and C that loops of several families share: BLAS, vectors, tables, tiles."""
