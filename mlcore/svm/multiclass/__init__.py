"""More than two classes as binary problems."""
