"""Encoders: texts -> vectors, one file per family."""
