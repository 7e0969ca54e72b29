"""The corpora: one file a data set. ``load`` and its companions are in ``data``."""

from target_bench.data.sources import ENVIRONMENT, loader
from target_bench.data.splits import from_database, from_dataframe, from_folder, load

__all__ = ["ENVIRONMENT", "from_database", "from_dataframe", "from_folder", "load", "loader"]
