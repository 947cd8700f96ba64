"""Class probabilities from decision values."""
