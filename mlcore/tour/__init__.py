"""What `python -m mlcore` shows: the models on the handwritten digits that mlcore ships."""
