"""How many rows, columns and cells of a table are missing, extra or matched."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Structure:
    """The structure descriptor: how many rows, columns and cells are missing, extra or matched.

    Cells are counted in matched rows and columns.
    """

    missing_rows: int = 0
    missing_columns: int = 0
    missing_cells: int = 0
    extra_rows: int = 0
    extra_columns: int = 0
    extra_cells: int = 0
    matched_rows: int = 0
    matched_columns: int = 0
    matched_cells: int = 0
    renamed_columns: int = 0
    merged_columns: int = 0

    @property
    def rows(self) -> int:
        """Rows of both tables, matched ones once."""
        return self.missing_rows + self.extra_rows + self.matched_rows

    @property
    def columns(self) -> int:
        """Columns of both tables, matched ones once."""
        return self.missing_columns + self.extra_columns + self.matched_columns
