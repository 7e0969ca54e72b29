"""Database files: found, opened for reading, and described as tables."""
