"""The retrievers: one file a family."""
