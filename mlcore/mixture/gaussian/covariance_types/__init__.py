"""Covariance types of mixtures of Gaussians: families of covariances, one object each."""
