"""Synthetic questions about tables: what they ask, which tables answer them, how they are said."""
