"""How sure one can be: intervals and tests for what is resampled as it is independent."""
