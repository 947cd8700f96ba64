"""Rows to begin from: drawn, and spread over the samples."""
