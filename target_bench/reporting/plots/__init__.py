"""Stored runs as pictures (extra ``plots``): SVG or PNG files, the same bytes for the same runs."""
