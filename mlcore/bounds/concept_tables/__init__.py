"""Concept classes given as tables: their VC, Littlestone and teaching dimension, and growth."""
