"""The retrievers: one file per family."""
