"""M-steps of families of covariances."""
