"""The layouts and file formats that tables and queries come in."""
