"""The corpora: one file per data set. ``load`` and its companions are in ``data``."""

from target_bench.data.how_to_get import ENVIRONMENT
from target_bench.data.own_data import from_database, from_dataframe, from_folder
from target_bench.data.read_split import loader
from target_bench.data.select import load

__all__ = ["ENVIRONMENT", "from_database", "from_dataframe", "from_folder", "load", "loader"]
