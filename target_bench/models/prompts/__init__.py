"""Prompts as data, and the code that fills them with tables."""
