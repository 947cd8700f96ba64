"""Mixtures of discrete distributions, fitted to sparse rows."""
