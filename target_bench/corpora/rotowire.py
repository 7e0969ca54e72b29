"""RotoWire as a text-to-table set: game reports and the tables they tell of (Wu et al. 2022)."""

from collections.abc import Iterable, Iterator

from target_bench.core.errors import DataError
from target_bench.core.release import CorpusLoader, Release
from target_bench.core.schema import CorpusInfo, Query, Table, TableId
from target_bench.tables.answer_tables import AnswerTable
from target_bench.tables.reading import read_tables
from target_bench.tables.text_table_lines import are_of_size, as_table, lines, smallest_size

_INSTRUCTION = (
    "Write two tables in Markdown: after the line `Team:` a row for each team, after the line "
    "`Player:` a row for each player; their columns are the statistics that the text gives, the "
    "first one, without a name, holds the teams or players."
)


class RotoWire(CorpusLoader):
    """Each line is a report and its Team and Player tables; the tables are the corpus.

    A query is a report: the text of ``text_to_table``, and for ``retrieval`` what its tables are
    found by. Of a report without a Team table there is only the other one.

    Args:
        at_least: rows and columns that all tables of a report have, headers included; Struc-Bench
            takes those of ``3x3``. Other reports are left out.
    """

    info = CorpusInfo(
        name="rotowire",
        title="RotoWire",
        tasks=("retrieval", "text_to_table"),
        splits=("test", "validation", "train"),
        licence="none stated by the release",
        citation="Wiseman et al., EMNLP 2017; Wu et al., Text-to-Table, ACL 2022",
        source="https://github.com/shirley-wu/text_to_table",
        files=("rotowire.test.text, rotowire.test.data (and .valid., .train.)",),
    )

    subfolders = ("rotowire", "data/rotowire")

    def __init__(self, at_least: str = "1x1") -> None:
        self.at_least = at_least
        self._smallest = smallest_size(at_least)

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        """Yield the Team and the Player table of each line, as far as it has them."""
        for number, _, _, tables in self._read_lines(release, split):
            for table in tables:
                yield as_table(f"{number}/{table.name}", table, {"title": table.name})

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Yield the report of each line; its id is the number of the line, from 0."""
        for number, text, data, tables in self._read_lines(release, split):
            gold = tuple(TableId("0", f"{number}/{table.name}") for table in tables)
            metadata = {"format": "text", "headers": "both", "instruction": _INSTRUCTION}
            yield Query(str(number), text, gold, data, metadata=metadata)

    def _read_lines(
        self, release: Release, split: str
    ) -> Iterator[tuple[int, str, str, tuple[AnswerTable, ...]]]:
        for number, place, text, data in lines(release, "rotowire", split):
            read = read_tables(data, "text")
            if read.error is not None:
                raise DataError(f"{place}: no table can be read ({read.error}): {data!r:.80}")
            if are_of_size(read.tables, self._smallest):
                yield number, text, data, tuple(read.tables)
