"""Scores of clusterings: objectives, silhouettes, agreement of labels."""
