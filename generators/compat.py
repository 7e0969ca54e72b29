# SPDX-License-Identifier: Apache-2.0
"""Generators written for the original TARGET package: ``generate(table_str, query)``.

They get what that package gives them: Markdown of the tables that were retrieved, with all their
rows, or the statements that create them for a question about a database.
"""

import json
from collections.abc import Mapping
from typing import Any

from target_bench import ConfigError, GenerationRequest, Generator, Table
from target_bench.plugin_tools import create_statement, make_part

_NO_TABLES = (
    "Some or all tables are not available. Please use your best judgment to complete the task. DO "
    'NOT RESPOND with "not enough information" or similar answers, and don\'t acknowledge the lack '
    "of information in your response. Just use your knowledge base and answer to the best of your "
    "ability."
)
"""What stands in the place of tables where there are none (TARGET, Appendix D)."""


class Compat(Generator):
    """Asks a generator of the original TARGET package.

    Needs: a class of yours, and the package target-benchmark if it imports that.

    Args:
        target: an object, or ``path/file.py:Class`` with its settings. Its method
            ``generate(table_str, query)`` returns the answer: text, or a dictionary with
            ``content``, or with ``sql_query`` and ``database_id``.

    Raises:
        ConfigError: there is no such class, or it is no generator.
    """

    def __init__(self, target: Any) -> None:
        self.target = make_part("generator", target)
        if not callable(getattr(self.target, "generate", None)):
            raise ConfigError(f"target: {target!r:.100} has no method generate(table_str, query)")

    def parts(self) -> Mapping[str, object]:
        """Return the object that is asked."""
        return {"target": self.target}

    def generate(self, request: GenerationRequest) -> str:
        """Return the answer to one request."""
        answer = self.target.generate(table_str=_tables_text(request), query=request.query)
        if isinstance(answer, str):
            return answer
        if isinstance(answer, Mapping) and isinstance(answer.get("content"), str):
            return str(answer["content"])
        if isinstance(answer, Mapping) and isinstance(answer.get("sql_query"), str):
            named = {"sql": answer["sql_query"], "database_id": answer.get("database_id")}
            return json.dumps({"reasoning": "", **named})
        raise TypeError(
            f"generate returned {answer!r:.100}, neither text nor a dictionary with content, or "
            "with sql_query and database_id"
        )


def _tables_text(request: GenerationRequest) -> str:
    """Write the tables of a request as the original package does, best first."""
    if not request.tables:
        return _NO_TABLES
    if request.answer == "sql":
        return "".join(_schema_text(name, tables) for name, tables in _by_database(request).items())
    return "\n".join(map(_table_text, request.tables))


def _table_text(table: Table) -> str:
    lines = "".join(f"| {' | '.join(map(str, row))} |\n" for row in (table.header, *table.rows))
    return f"table name: {tuple(table.id)}\n{lines}"


def _by_database(request: GenerationRequest) -> dict[str, list[Table]]:
    by_database: dict[str, list[Table]] = {}
    for table in request.tables:
        by_database.setdefault(table.id.database_id, []).append(table)
    return by_database


def _schema_text(name: str, tables: list[Table]) -> str:
    statements = "\n\n".join(map(create_statement, tables))
    return f"\nDatabase Name: {name}\nSchema:\n\n{statements}\n\n---\n"
