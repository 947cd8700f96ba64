"""Data-dependent bounds: margins, PAC-Bayes, Rademacher complexity, sample compression."""
