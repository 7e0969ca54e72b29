"""Faithfulness without a reference: what a text and a table say alike, read by the same rules."""
