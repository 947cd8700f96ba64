"""Scores of rows under several weight vectors."""
