"""The corpora: one file per data set. ``load`` and its companions are in ``data``."""

from target_bench.data.load import ENVIRONMENT, load, loader
from target_bench.data.own_data import from_database, from_dataframe, from_folder

__all__ = ["ENVIRONMENT", "from_database", "from_dataframe", "from_folder", "load", "loader"]
