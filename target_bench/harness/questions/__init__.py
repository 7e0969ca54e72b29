"""Synthetic questions with known gold tables: ``target-bench ask``.

A writer (``templates``, ``model``) drafts questions about one table each; ``ask`` looks each draft
up in all tables (``table_view``), and keeps it if they give no other answer.
"""
