"""Hot loops of mlcore.cluster.density."""
