"""Perceptrons, linear and of a kernel: rounds of prediction and correction, mistakes bounded."""
