"""The remedies: one small module for each. ``coldsoak.remedies.registry`` lists them."""
