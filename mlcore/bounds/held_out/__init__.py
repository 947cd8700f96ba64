"""Error rates, and their differences, from examples that were kept out of training."""
