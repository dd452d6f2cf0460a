"""What makes a first run fast: the catalogue, trials in random pairs, the recipe, preheat."""
