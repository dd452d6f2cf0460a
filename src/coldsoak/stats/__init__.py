"""Pure functions on numbers and on the model; ``docs/statistics.md`` says what each means."""
