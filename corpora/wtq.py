# SPDX-License-Identifier: Apache-2.0
"""WikiTableQuestions: questions about Wikipedia tables (Pasupat & Liang 2015)."""

from collections.abc import Iterable, Iterator, Sequence

from target_bench import CorpusInfo, CorpusLoader, DataError, Query, Release, Table, TableId
from target_bench.plugin_tools import csv_grid, decode

_FILES = {
    "test": "pristine-unseen-tables",
    "validation": "random-split-1-dev",
    "train": "random-split-1-train",
}
_COLUMNS = ["id", "utterance", "context", "targetValue"]


class WikiTableQuestions(CorpusLoader):
    """Questions, each with its table; the corpus is all 2,108 tables, which have no titles.

    ``test`` is the official test set of unseen tables, ``validation`` and ``train`` the first
    random split of the rest. An answer is a list of values, kept in the metadata ``values`` and
    written with `` | `` between them; ``canonical_values`` are the numbers and dates that the
    official evaluator takes them for, where the release's tagged files are here.
    """

    info = CorpusInfo(
        name="wtq",
        title="WikiTableQuestions",
        tasks=("retrieval", "question_answering"),
        splits=("test", "validation", "train"),
        licence="CC BY-SA 4.0",
        citation="Pasupat & Liang, Compositional Semantic Parsing on Semi-Structured Tables, "
        "ACL 2015",
        source="https://github.com/ppasupat/WikiTableQuestions",
        files=(
            "csv/ or csv.zip",
            "pristine-unseen-tables.tsv, random-split-1-dev.tsv, random-split-1-train.tsv "
            "(from data/)",
            "the same with .tagged for .tsv (from tagged/data/) for the official answer metric",
        ),
    )
    subfolders = ("data", "tagged/data")

    def tables(self, release: Release, split: str) -> Iterable[Table]:  # noqa: ARG002 (the contract's argument)
        """Yield all tables; an id is the path of its file."""
        for place, name, content in release.bundled("csv", "csv"):
            if name.endswith(".csv"):
                text = decode(content, place)
                header, rows = csv_grid(
                    release, place, text, doublequote=False, escapechar="\\", strict=True
                )
                yield Table(TableId("0", name), header, rows)

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Yield the questions of the split."""
        canonical = _read_canonical(release, split)
        for place, line in _read_lines(release, f"{_FILES[split]}.tsv", _COLUMNS):
            query_id, text, table, target = line
            values = _split_values(target)
            known = canonical.get(query_id)
            if canonical and (known is None or len(known) != len(values)):
                raise DataError(f"{place}: {_FILES[split]}.tagged has no such values of {query_id}")
            metadata = {"values": values} | ({"canonical_values": known} if known else {})
            gold = (TableId("0", table),)
            yield Query(query_id, _unescape(text), gold, " | ".join(values), metadata=metadata)


def _read_canonical(release: Release, split: str) -> dict[str, list[str]]:
    """Return question -> the values as numbers and dates, empty text for others."""
    name = f"{_FILES[split]}.tagged"
    if release.find(name) is None:
        release.notes.append(
            f"{name} is missing, so values are compared as they are written: put the release's "
            "tagged/data/ there for the official answer metric"
        )
        return {}
    lines = _read_lines(release, name, ["id", "targetCanon"])
    return {query_id: _split_values(values) for _, (query_id, values) in lines}


def _read_lines(
    release: Release, name: str, columns: Sequence[str]
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield (place, the cells of some columns) of each line of a file with tabs between cells."""
    path = release.require(name)
    first, *lines = release.text(path).rstrip("\n").split("\n")
    header = first.split("\t")
    missing = [column for column in columns if column not in header]
    if missing:
        raise DataError(f"{path}, line 1: no column {missing[0]!r}; it has {', '.join(header)}")
    places = [header.index(column) for column in columns]
    for number, line in enumerate(lines, start=2):
        cells = line.split("\t")
        if len(cells) != len(header):
            raise DataError(
                f"{path}, line {number}: {len(cells)} cells under {len(header)} columns"
            )
        yield f"{path}, line {number}", [cells[place] for place in places]


def _split_values(text: str) -> list[str]:
    return [_unescape(value) for value in text.split("|")]


def _unescape(text: str) -> str:
    """Return a text of the release's files with its newlines, pipes and backslashes."""
    for written, meant in ((r"\n", "\n"), (r"\p", "|"), ("\\\\", "\\")):
        text = text.replace(written, meant)
    return text
