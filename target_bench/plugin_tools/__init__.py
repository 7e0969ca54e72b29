"""What a plug-in may use beyond the contracts of ``target_bench``.

Contributed plug-ins import from ``target_bench`` and from here, and from nothing else of it.
"""

from target_bench.core.release import decode, field, texts

__all__ = ["decode", "field", "texts"]
