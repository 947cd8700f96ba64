"""Loops of mlcore.svm."""
