"""Least squares with the penalty of the elastic net, by coordinate descent and Newton steps."""
