"""Logistic regression and its parts."""
