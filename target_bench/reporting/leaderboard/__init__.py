"""Submissions: how results are packed, checked and shown."""
