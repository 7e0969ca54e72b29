# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL with the extension pgvector."""

import importlib.util
import os
import re
from collections.abc import Sequence

from target_bench import ConfigError, MissingExtraError, Vectors
from target_bench.plugin_tools import Field, Format, RowLimit, VectorDatabase, without_secrets

_ADDRESS = "PGVECTOR_URL"


class PGVector(VectorDatabase):
    """Exact cosine over a column of vectors in PostgreSQL.

    Needs: extras pgvector and dense; MiniLM (download); a PostgreSQL server with pgvector.

    The address of the server, with its password, is read from $PGVECTOR_URL, as in
    postgresql://user:password@localhost/tables. The table holds ``place``, ``database_id``,
    ``table_id`` and ``vector``. One with a name is kept, and made anew by every run.

    Args:
        table: the name of the table; None for a temporary one.
    """

    packages = ("psycopg",)
    changes_no_ranking = ("table",)

    def __init__(
        self,
        table: str | None = None,
        encoder: object = "minilm",
        fields: Sequence[Field] = ("title", "section", "header", "rows"),
        rows: RowLimit = "auto",
        format: Format = "text",
    ) -> None:
        if importlib.util.find_spec("psycopg") is None:
            raise MissingExtraError("psycopg[binary]", "pgvector", "the retriever pgvector")
        if table is not None and not re.fullmatch(r"[A-Za-z_]\w*", table):
            raise ConfigError(f"table={table!r}: expected a name of letters, digits and _")
        if not os.environ.get(_ADDRESS):
            raise ConfigError(
                f"the retriever pgvector: set ${_ADDRESS} to the address of the server, as in "
                "postgresql://user:password@localhost/tables"
            )
        super().__init__(encoder, fields, rows, format)
        self.table = table

    def fill(self, places: Sequence[int], vectors: Vectors) -> None:
        """Put the vectors of all tables into the database, in place of earlier ones."""
        import psycopg

        address = os.environ[_ADDRESS].replace("postgresql+psycopg://", "postgresql://")
        try:
            self._connection = psycopg.connect(address, autocommit=True)
            self.opened(self._connection.close)
            self._connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        except psycopg.Error as error:
            problem = without_secrets(f"${_ADDRESS}: {error}", [address])
            raise ConfigError(f"the retriever pgvector: {problem}") from error
        self._name = self.table or "target_bench_tables"
        if self.table:
            self._connection.execute(f"DROP TABLE IF EXISTS {self.table}")
        temporary = "" if self.table else "TEMPORARY"
        self._connection.execute(
            f"CREATE {temporary} TABLE {self._name} (place INTEGER PRIMARY KEY, database_id TEXT, "
            f"table_id TEXT, vector vector({vectors.shape[1]}))"
        )
        copied = f"COPY {self._name} FROM STDIN"
        with self._connection.cursor() as cursor, cursor.copy(copied) as copy:
            for place, vector in zip(places, vectors.tolist(), strict=True):
                copy.write_row((place, *self._ids[place], str(vector)))

    def nearest(self, vector: list[float], k: int) -> list[tuple[int, float]]:
        """Return the nearest tables of a vector: (place, cosine), best first."""
        return self._connection.execute(
            f"SELECT place, 1 - (vector <=> %(vector)s::vector) FROM {self._name} "  # noqa: S608 (a checked name)
            "ORDER BY vector <=> %(vector)s::vector, place LIMIT %(k)s",
            {"vector": str(vector), "k": k},
        ).fetchall()
