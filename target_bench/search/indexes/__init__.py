"""Vector indexes: the nearest of many vectors, one file per library."""
