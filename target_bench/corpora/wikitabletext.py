"""WikiTableText as a text-to-table set: sentences and a table of two columns (Wu et al. 2022)."""

from collections.abc import Iterable

from target_bench.core.errors import DataError
from target_bench.core.release import CorpusLoader, Release
from target_bench.core.schema import CorpusInfo, Query, Table, TableId
from target_bench.tables.header_cell_scores import parse_paper_format
from target_bench.tables.text_table_lines import lines

_INSTRUCTION = (
    "Write one table in Markdown with two columns and no header: in each row the name of a field "
    "and its value."
)


class WikiTableText(CorpusLoader):
    """Each line is a sentence and the fields it tells of; the tables are the corpus."""

    info = CorpusInfo(
        name="wikitabletext",
        title="WikiTableText",
        tasks=("retrieval", "text_to_table"),
        splits=("test", "validation", "train"),
        licence="none stated by the release",
        citation="Bao et al., AAAI 2018; Wu et al., Text-to-Table, ACL 2022",
        source="https://github.com/shirley-wu/text_to_table",
        files=("wikitabletext.test.text, wikitabletext.test.data (and .valid., .train.)",),
    )

    subfolders = ("wikitabletext", "rotowire", "data/wikitabletext")

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        """Yield the table of each line, with the columns ``field`` and ``value``."""
        for number, (place, _, data) in enumerate(lines(release, "wikitabletext", split)):
            rows = parse_paper_format(data)
            if not rows:
                raise DataError(f"{place}: no table can be read: {data!r:.80}")
            header = ["field", "value", *[""] * (len(rows[0]) - 2)][: len(rows[0])]
            yield Table(TableId("0", str(number)), header, rows, {"title": ""})

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Yield the sentence of each line; its id is the number of the line, from 0."""
        for number, (_, text, data) in enumerate(lines(release, "wikitabletext", split)):
            metadata = {"format": "text", "headers": "row", "instruction": _INSTRUCTION}
            yield Query(str(number), text, (TableId("0", str(number)),), data, metadata=metadata)
