"""Ratings by people: forms to fill in, what comes back, and how metrics agree with it."""
