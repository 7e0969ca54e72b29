"""SQLite's SQL in DuckDB: translation, and where both engines agree."""
