"""Parts of every estimator: parameters, fitted state, progress, tables, files."""
