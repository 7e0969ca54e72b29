"""Text-to-table sets of fields and values: WikiTableText, E2E, WikiBio (Wu et al. 2022)."""

from collections.abc import Iterable
from typing import ClassVar

from target_bench.core.errors import DataError
from target_bench.core.release import CorpusLoader, Release
from target_bench.core.schema import CorpusInfo, Query, Table, TableId
from target_bench.tables.header_cell_scores import parse_paper_format
from target_bench.tables.text_table_lines import lines

_INSTRUCTION = (
    "Write one table in Markdown with two columns and no header: in each row the name of a field "
    "and its value."
)


def _info(name: str, title: str, citation: str) -> CorpusInfo:
    return CorpusInfo(
        name=name,
        title=title,
        tasks=("retrieval", "text_to_table"),
        splits=("test", "validation", "train"),
        licence="none stated by the release",
        citation=f"{citation}; Wu et al., Text-to-Table, ACL 2022",
        source="https://github.com/shirley-wu/text_to_table",
        files=(f"{name}.test.text, {name}.test.data (and .valid., .train.)",),
    )


class WikiTableText(CorpusLoader):
    """Each line is a text and the fields it tells of; the tables are the corpus.

    A line without a field, of which E2E and WikiBio have some, is left out, with a note.
    """

    info = _info("wikitabletext", "WikiTableText", "Bao et al., AAAI 2018")
    subfolders: ClassVar[tuple[str, ...]] = ("wikitabletext", "rotowire", "data/wikitabletext")

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        """Yield the table of each line, with the columns ``field`` and ``value``."""
        for number, place, _, data in lines(release, self.info.name, split):
            if data:
                rows = parse_paper_format(data)
                if not rows:
                    raise DataError(f"{place}: no table can be read: {data!r:.80}")
                header = ["field", "value", *[""] * (len(rows[0]) - 2)][: len(rows[0])]
                yield Table(TableId("0", str(number)), header, rows, {"title": ""})

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Yield the text of each line; its id is the number of the line, from 0."""
        for number, place, text, data in lines(release, self.info.name, split):
            if not data:
                release.remark("lines without a field, which are left out", place)
            else:
                metadata = {"format": "text", "headers": "row", "instruction": _INSTRUCTION}
                gold = (TableId("0", str(number)),)
                yield Query(str(number), text, gold, data, metadata=metadata)


class E2E(WikiTableText):
    """Descriptions of restaurants and the fields they tell of, a line each."""

    info = _info("e2e", "E2E", "Novikova et al., SIGDIAL 2017")
    subfolders: ClassVar[tuple[str, ...]] = ("e2e", "data/e2e")


class WikiBio(WikiTableText):
    """First sentences of biographies and the fields of the infobox they tell of, a line each."""

    info = _info("wikibio", "WikiBio", "Lebret et al., EMNLP 2016")
    subfolders: ClassVar[tuple[str, ...]] = ("wikibio", "data/wikibio")
