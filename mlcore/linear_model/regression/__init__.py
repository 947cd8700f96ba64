"""Linear least squares, with or without a ridge."""
