"""Arrow tables as data frames of pandas, which is optional."""

from typing import TYPE_CHECKING

from target_bench.core.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas
    import pyarrow


def to_pandas(table: "pyarrow.Table") -> "pandas.DataFrame":
    """Return a table as a data frame.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError("pandas", "pandas", "to_pandas") from error
    frame: pandas.DataFrame = table.to_pandas()
    return frame
