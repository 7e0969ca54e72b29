"""The options of a run that tasks about answers read."""

ANSWER_OPTIONS = ("generators", "prompt", "prompt_tokens", "predictions", "order")
"""By the names that they have in Python; a task lists what it reads in its attribute ``reads``."""

SEVERAL_TABLES = (*ANSWER_OPTIONS, "tables")
"""The same where a prompt may hold several tables."""
