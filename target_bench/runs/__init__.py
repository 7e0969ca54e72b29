"""Runs on disk: one folder per run, named by a hash of all that can change its result."""
