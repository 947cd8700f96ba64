"""Hot loops of mlcore.decomposition."""
