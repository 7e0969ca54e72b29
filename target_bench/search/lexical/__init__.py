"""Text as terms: analysis, weights and postings."""
