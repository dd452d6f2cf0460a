"""Readings of a saved result: nothing here measures, and nothing here starts a process."""
