"""Threads, scratch memory and the memory that is free."""
