"""Frozen structures and their versioned JSON: no I/O, no terminal, no processes."""
