"""The stages of a run: each reads what the one before it wrote, and can be run alone."""
