# SPDX-License-Identifier: Apache-2.0
"""LanceDB: vectors in a folder of Lance files."""

import importlib.util
from collections.abc import Sequence

from target_bench import MissingExtraError, Vectors
from target_bench.plugin_tools import Field, Format, RowLimit, VectorDatabase


class LanceDB(VectorDatabase):
    """Cosine over the vectors of a table in LanceDB, exact as long as it has no index.

    Needs: extras lancedb and dense; MiniLM (download).

    The table holds ``place``, ``database_id``, ``table_id`` and ``vector``, and is made anew by
    every run.

    Args:
        uri: the folder of the database, or its address; None to keep it in memory.
        table: the name of the table.
    """

    packages = ("lancedb",)
    changes_no_ranking = ("uri", "table")

    def __init__(
        self,
        uri: str | None = None,
        table: str = "tables",
        encoder: object = "minilm",
        fields: Sequence[Field] = ("title", "section", "header", "rows"),
        rows: RowLimit = "auto",
        format: Format = "text",
    ) -> None:
        if importlib.util.find_spec("lancedb") is None:
            raise MissingExtraError("lancedb", "lancedb", "the retriever lancedb")
        super().__init__(encoder, fields, rows, format)
        self.uri = uri
        self.table = table

    def fill(self, places: Sequence[int], vectors: Vectors) -> None:
        """Put the vectors of all tables into the database, in place of what was there."""
        import lancedb

        records = [
            {
                "place": place,
                "database_id": self._ids[place].database_id,
                "table_id": self._ids[place].table_id,
                "vector": vector,
            }
            for place, vector in zip(places, vectors.tolist(), strict=True)
        ]
        database = lancedb.connect(self.uri or "memory://")
        self._table = database.create_table(self.table, records, mode="overwrite")

    def nearest(self, vector: list[float], k: int) -> list[tuple[int, float]]:
        """Return the nearest tables of a vector: (place, cosine), best first."""
        hits = self._table.search(vector).distance_type("cosine").limit(k).to_list()
        return [(hit["place"], 1 - hit["_distance"]) for hit in hits]
