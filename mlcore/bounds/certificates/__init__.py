"""Bounds for a given classifier, collected in a report."""
