"""Hot loops of mlcore.linear_model.regression."""
