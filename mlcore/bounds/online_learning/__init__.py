"""Bounds for online learners: mistakes, regret, and risk on fresh examples."""
