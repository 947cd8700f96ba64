"""Loops of mlcore.naive_bayes."""
