"""Mistakes in how the program measures."""
