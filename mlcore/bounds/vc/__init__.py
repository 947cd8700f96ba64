"""Bounds and sample sizes for classes of finite VC dimension, and known VC dimensions."""
