"""Numerical methods that several families of models share."""
