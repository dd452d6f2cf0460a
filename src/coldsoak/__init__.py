"""Why is the first run slow, and what makes it fast."""

__version__ = "0.1.0"
