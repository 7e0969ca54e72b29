"""The retrievers: one file per family."""

from target_bench.core import moved

moved.register(__name__)
