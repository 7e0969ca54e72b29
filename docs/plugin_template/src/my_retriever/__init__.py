"""A table retriever for target-bench."""

from my_retriever.retriever import MyRetriever

__all__ = ["MyRetriever"]
