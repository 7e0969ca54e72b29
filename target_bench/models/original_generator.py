"""Generators written for the original TARGET package: ``generate(table_str, query)``.

They get what that package gives them: Markdown of the tables that were retrieved, with all their
rows, or the statements that create them for a question about a database.
"""

import json
from collections.abc import Mapping
from typing import Any

from target_bench.core.contract import Generator
from target_bench.core.schema import GenerationRequest, Table
from target_bench.models.original_classes import markdown_table_str
from target_bench.models.prompts.schema_prompting import create_statement

NO_TABLES = (
    "Some or all tables are not available. Please use your best judgment to complete the task. DO "
    'NOT RESPOND with "not enough information" or similar answers, and don\'t acknowledge the lack '
    "of information in your response. Just use your knowledge base and answer to the best of your "
    "ability."
)
"""What stands in the place of tables where there are none (TARGET, Appendix D)."""


class OriginalGenerator(Generator):
    """Asks a generator of the original TARGET package.

    Args:
        target: an object with ``generate(table_str, query)``, which returns the answer: text, or a
            dictionary with ``content``, or with ``sql_query`` and ``database_id``.
    """

    def __init__(self, target: Any) -> None:
        self.target = target

    def parts(self) -> Mapping[str, object]:
        """Return the object that is asked."""
        return {"target": self.target}

    def generate(self, request: GenerationRequest) -> str:
        """Return the answer to one request."""
        answer = self.target.generate(table_str=tables_text(request), query=request.query)
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


def tables_text(request: GenerationRequest) -> str:
    """Write the tables of a request as the original package does, best first."""
    if not request.tables:
        return NO_TABLES
    if request.answer == "sql":
        return "".join(_schema_text(name, tables) for name, tables in _by_database(request).items())
    return "\n".join(map(_table_text, request.tables))


def _table_text(table: Table) -> str:
    rows: list[list[Any]] = [list(table.header), *(list(row) for row in table.rows)]
    return f"table name: {tuple(table.id)}\n{markdown_table_str(rows)}"


def _by_database(request: GenerationRequest) -> dict[str, list[Table]]:
    found: dict[str, list[Table]] = {}
    for table in request.tables:
        found.setdefault(table.id.database_id, []).append(table)
    return found


def _schema_text(name: str, tables: list[Table]) -> str:
    statements = "\n\n".join(map(create_statement, tables))
    return f"\nDatabase Name: {name}\nSchema:\n\n{statements}\n\n---\n"
