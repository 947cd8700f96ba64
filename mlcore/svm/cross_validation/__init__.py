"""The choice of C and gamma by cross-validation."""
