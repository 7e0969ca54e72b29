"""Encoders: texts -> vectors, one file a family."""
