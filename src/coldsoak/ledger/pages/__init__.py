"""The text about each cause, by group of the stack."""
