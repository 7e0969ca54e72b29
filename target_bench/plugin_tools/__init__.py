"""What a plug-in may use beyond the contracts of ``target_bench``.

Contributed plug-ins import from ``target_bench`` and from here, and from nothing else of it.
"""

from target_bench.core.release import decode, field, texts
from target_bench.data.formats.csv_files import csv_grid

__all__ = ["csv_grid", "decode", "field", "texts"]
