"""Intervals of means of bounded losses, and of the metrics of classifiers and regressors."""
