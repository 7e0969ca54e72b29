"""The retrievers: one file a family."""

from target_bench.core import moved

moved.register(__name__)
