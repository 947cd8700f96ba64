"""Directions in the space of features: spectra, samples and features in a plane, correlations."""
