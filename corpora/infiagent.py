# SPDX-License-Identifier: Apache-2.0
"""InfiAgent-DABench: questions of data analysis about CSV files (Hu et al. 2024)."""

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from target_bench import CorpusInfo, CorpusLoader, DataError, Query, Release, Table, TableId
from target_bench.plugin_tools import csv_grid, field


class InfiAgentDABench(CorpusLoader):
    """Questions, each about one file; a file's name without suffix is the table's title.

    The reference is the named values of the answer as the release asks for them, ``@mean[34.65]``.
    The metadata hold ``constraints``, ``format``, ``concepts`` and ``level``. Many questions do not
    say what their file is about.
    """

    info = CorpusInfo(
        name="infiagent",
        title="InfiAgent-DABench",
        tasks=("retrieval",),
        splits=("validation",),
        licence="Apache-2.0",
        citation="Hu et al., InfiAgent-DABench: Evaluating Agents on Data Analysis Tasks, ICML "
        "2024",
        source="https://github.com/InfiAgent/InfiAgent",
        files=(
            "da-dev-questions.jsonl, da-dev-labels.jsonl",
            "da-dev-tables/ or da-dev-tables.zip",
        ),
    )
    subfolders = ("examples/DA-Agent/data",)

    def tables(self, release: Release, split: str) -> Iterable[Table]:  # noqa: ARG002 (the contract's argument)
        """Yield the tables; an id is the name of the file."""
        for place, name, content in release.bundled("da-dev-tables", "da-dev-tables"):
            path = PurePosixPath(name)
            if path.suffix == ".csv":
                header, rows = csv_grid(release, place, _read_text(release, content, place))
                yield Table(TableId("0", path.name), header, rows, {"title": path.stem})

    def queries(self, release: Release, split: str) -> Iterable[Query]:  # noqa: ARG002 (the contract's argument)
        """Yield the questions in the order of their file."""
        answers = _read_answers(release)
        for place, record in release.json_lines(release.require("da-dev-questions.jsonl")):
            number = field(record, "id", int, place)
            yield Query(
                id=str(number),
                text=field(record, "question", str, place),
                gold=(TableId("0", field(record, "file_name", str, place)),),
                answer=answers.get(number, ""),
                metadata={
                    name: record.get(name)
                    for name in ("constraints", "format", "concepts", "level")
                },
            )


def _read_answers(release: Release) -> Mapping[int, str]:
    """Return question -> its named values."""
    values_by_question: dict[int, str] = {}
    for place, record in release.json_lines(release.require("da-dev-labels.jsonl")):
        number, values = field(record, "id", int, place), []
        if number in values_by_question:
            raise DataError(f"{place}: answers of question {number} for the second time; keep one")
        for pair in field(record, "common_answers", list, place):
            if not isinstance(pair, list) or len(pair) != 2:
                raise DataError(
                    f"{place}: field 'common_answers' should hold pairs of name and value, but "
                    f"holds {pair!r:.80}"
                )
            values.append(f"@{pair[0]}[{pair[1]}]")
        values_by_question[number] = " ".join(values)
    return values_by_question


def _read_text(release: Release, content: bytes, place: str) -> str:
    """Return a file's text; one that is not UTF-8 is Latin-1, and noted."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        release.remark("files are not UTF-8 and are read as Latin-1", place)
        return content.decode("latin-1")
