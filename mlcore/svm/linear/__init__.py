"""Support vector machines that are linear in the features, of very many samples."""
