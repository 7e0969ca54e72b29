"""The options of a run that every task about answers reads."""

ANSWER_OPTIONS = ("generators", "prompt", "tables", "prompt_tokens", "predictions", "order")
"""By the names that they have in Python; a task lists what it reads in its attribute ``reads``."""
