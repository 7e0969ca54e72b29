"""The corpora: one file a data set. ``load`` and its companions are in ``data.splits``."""

from target_bench.data.splits import (
    ENVIRONMENT,
    from_database,
    from_dataframe,
    from_folder,
    load,
    loader,
)

__all__ = ["ENVIRONMENT", "from_database", "from_dataframe", "from_folder", "load", "loader"]
