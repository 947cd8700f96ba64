"""Bounds that the training data sharpen: margins, PAC-Bayes, Rademacher, compression."""
