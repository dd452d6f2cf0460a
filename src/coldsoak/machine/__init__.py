"""The machine: what it is, which devices it has, and what the frameworks call them."""
