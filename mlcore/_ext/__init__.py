"""The compiled loops; see the module of the same word for what they mean."""
