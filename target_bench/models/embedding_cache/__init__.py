"""Texts as vectors, each encoded once and recorded on disk."""
