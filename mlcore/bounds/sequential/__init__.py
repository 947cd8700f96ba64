"""Statements on losses in the order in which they come, valid at every look."""
