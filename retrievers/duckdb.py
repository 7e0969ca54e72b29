# SPDX-License-Identifier: Apache-2.0
"""DuckDB: the cosine of every vector of a column."""

from collections.abc import Sequence

import duckdb

from target_bench import Vectors
from target_bench.plugin_tools import Field, Format, RowLimit, VectorDatabase


class DuckDB(VectorDatabase):
    """Exact cosine over a column of vectors in DuckDB.

    Needs: extra dense and MiniLM (download), or another encoder.

    The table ``tables`` holds ``place``, ``database_id``, ``table_id`` and ``vector``, and is made
    anew by every run.

    Args:
        path: the file of the database; None to keep it in memory.
    """

    packages = ("duckdb",)
    changes_no_ranking = ("path",)

    def __init__(
        self,
        path: str | None = None,
        encoder: object = "minilm",
        fields: Sequence[Field] = ("title", "section", "header", "rows"),
        rows: RowLimit = "auto",
        format: Format = "text",
    ) -> None:
        super().__init__(encoder, fields, rows, format)
        self.path = path

    def fill(self, places: Sequence[int], vectors: Vectors) -> None:
        """Put the vectors of all tables into the database, in place of what was there."""
        self._database = duckdb.connect(self.path or ":memory:")
        self.opened(self._database.close)
        self._database.execute(
            "CREATE OR REPLACE TABLE tables (place INTEGER, database_id TEXT, table_id TEXT, "
            f"vector FLOAT[{vectors.shape[1]}])"
        )
        self._database.executemany(
            "INSERT INTO tables VALUES (?, ?, ?, ?)",
            [
                (place, *self._ids[place], vector)
                for place, vector in zip(places, vectors.tolist(), strict=True)
            ],
        )

    def nearest(self, vector: list[float], k: int) -> list[tuple[int, float]]:
        """Return the nearest tables of a vector: (place, cosine), best first."""
        return self._database.execute(
            f"SELECT place, array_cosine_similarity(vector, ?::FLOAT[{len(vector)}]) AS score "  # noqa: S608 (a number)
            "FROM tables ORDER BY score DESC, place LIMIT ?",
            [vector, k],
        ).fetchall()
