"""Runs on disk: one folder a run, named by a hash of all that can change its result."""
