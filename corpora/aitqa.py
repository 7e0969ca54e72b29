# SPDX-License-Identifier: Apache-2.0
"""AIT-QA: questions about tables of airlines' annual reports (Katsis et al. 2022)."""

from collections.abc import Iterable
from typing import Any

from target_bench import CorpusInfo, CorpusLoader, DataError, Query, Release, Table, TableId
from target_bench.plugin_tools import field

_BETWEEN = " / "
"""What stands between the levels of a header when they are joined to one name."""


class AITQA(CorpusLoader):
    """Questions about tables with hierarchies of column and row headers, and without titles.

    The levels of a column's header are joined to its name. Row headers, where a table has them, are
    the first column, their levels joined likewise; it has no name. The metadata hold ``type``
    (KPI-driven or Table-driven), ``row_hierarchy_needed`` and ``paraphrase_group``.
    """

    info = CorpusInfo(
        name="aitqa",
        title="AIT-QA",
        tasks=("retrieval", "question_answering"),
        splits=("test",),
        licence="CDLA-Sharing-1.0",
        citation="Katsis et al., AIT-QA: Question Answering Dataset over Complex Tables in the "
        "Airline Industry, NAACL 2022 Industry Track",
        source="https://github.com/IBM/AITQA",
        files=("aitqa_tables.jsonl", "aitqa_questions.jsonl"),
    )

    def tables(self, release: Release, split: str) -> Iterable[Table]:  # noqa: ARG002 (the contract's argument)
        """Yield the tables in the order of their file."""
        for place, record in release.json_lines(release.require("aitqa_tables.jsonl")):
            name = field(record, "id", str, place)
            header = _join_levels(field(record, "column_header", list, place), place)
            row_names = _join_levels(field(record, "row_header", list, place), place)
            rows = [list(row) for row in field(record, "data", list, place)]
            if len(row_names) > len(rows) or any(len(row) < len(header) for row in rows):
                release.remark("tables have headers of rows or columns without cells", place, name)
            rows += [[] for _ in row_names[len(rows) :]]
            rows = [[*row, *[""] * (len(header) - len(row))] for row in rows]
            if row_names:
                header = ["", *header]
                row_names += [""] * (len(rows) - len(row_names))
                rows = [[row_name, *row] for row_name, row in zip(row_names, rows, strict=True)]
            yield Table(TableId("0", name), header, rows)

    def queries(self, release: Release, split: str) -> Iterable[Query]:  # noqa: ARG002 (the contract's argument)
        """Yield the questions in the order of their file."""
        for place, record in release.json_lines(release.require("aitqa_questions.jsonl")):
            yield Query(
                id=field(record, "id", str, place),
                text=field(record, "question", str, place),
                gold=(TableId("0", field(record, "table_id", str, place)),),
                answer=tuple(map(str, field(record, "answers", list, place))),
                metadata={
                    name: record.get(name)
                    for name in ("type", "row_hierarchy_needed", "paraphrase_group")
                },
            )


def _join_levels(paths: list[Any], place: str) -> list[str]:
    """Return the names of columns or rows: the levels of each, from the outermost one."""
    if not all(isinstance(path, list) for path in paths):
        raise DataError(f"{place}: a header should be a list of levels, but there is {paths!r:.80}")
    return [_BETWEEN.join(" ".join(str(level).split()) for level in path) for path in paths]
