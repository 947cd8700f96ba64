"""Finite hypothesis classes: their sizes, and union bounds over them."""
