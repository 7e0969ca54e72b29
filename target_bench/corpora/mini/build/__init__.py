"""Facts and code from which the demonstration corpus is regenerated."""

from .writer import write

__all__ = ["write"]
