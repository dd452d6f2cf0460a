"""Causes of a slow first run with a known remedy."""
