"""The sections that `python -m mlcore` shows: models on the handwritten digits it ships."""
