"""The tables and queries of the checks: small, of our own making, and awkward in all allowed ways.

Every function makes new objects, so that a plug-in that changes what it is given spoils no other
check.
"""

from collections.abc import Sequence
from typing import NamedTuple

from target_bench.core.schema import NO_DATABASE, Cell, Table, TableId
from target_bench.data.tables import MemoryCorpus

Rows = Sequence[Sequence[Cell]]


class Sample(NamedTuple):
    """A corpus to check with, what to ask of it, and what messages call it."""

    name: str
    corpus: MemoryCorpus
    queries: tuple[str, ...]

    @property
    def n(self) -> int:
        """How many tables there are."""
        return len(self.corpus)


def ordinary(telling_ids: bool = False) -> Sample:
    """Return ten tables about ten things, in an order that is not that of ids or queries.

    Args:
        telling_ids: whether the id of a table is a query about another one. The ids sort alike.
    """
    words = QUERIES[3:] + QUERIES[:3]
    numbered = list(enumerate(_TOPICS))
    tables = [
        _table(f"{n:02d} {words[n]}" if telling_ids else f"{n:02d}", *topic[:3])
        for n, topic in numbered[1::2] + numbered[::2][::-1]
    ]
    return Sample("the ten ordinary tables", MemoryCorpus(tables), QUERIES)


def other() -> Sample:
    """Return three tables about other things, under other ids."""
    tables = [_table(f"other-{i}", *topic[:3]) for i, topic in enumerate(_OTHER_TOPICS)]
    queries = tuple(topic[3] for topic in _OTHER_TOPICS)
    return Sample("three tables about other things", MemoryCorpus(tables), queries)


def awkward_ids() -> Sample:
    """Return tables whose ids look like paths, hold quotes or other scripts, or differ in case."""
    ids = (
        "a/b c.csv", "https://example.org/w?title=Bridges&x=1#top", 'it\'s "quoted"',
        "東京-🚲", "case", "CASE", " padded ", "x" * 300, "1", "-1",
    )  # fmt: skip
    tables = [_table(name, *topic[:3]) for name, topic in zip(ids, _TOPICS, strict=True)]
    return Sample("ten tables with awkward ids", MemoryCorpus(tables), QUERIES)


def copies() -> tuple[Sample, list[list[TableId]]]:
    """Return tables of which some have the same content, and the ids of those.

    Three ordinary ones occur twice, and one under the same table id in three databases.
    """
    tables = list(ordinary().corpus)
    again = [
        Table(TableId("0", f"copy-{t.id[1]}"), t.header, t.rows, t.context) for t in tables[:3]
    ]
    singers = [
        Table(TableId(database, "singer"), ["singer", "age"], [["Joe Sharp", "52"]], {"title": ""})
        for database in ("concerts", "choirs", "festivals")
    ]
    same = [[table.id, copy.id] for table, copy in zip(tables, again, strict=False)]
    same.append([table.id for table in singers])
    queries = (*QUERIES, "How old is the singer Joe Sharp?")
    corpus = MemoryCorpus([*tables, *again, *singers])
    return Sample("tables of which some occur twice or more", corpus, queries), same


def odd() -> Sample:
    """Return irregular tables as they occur in practice."""
    tables = [
        _table("no-rows", "A table without rows", ["river", "length"], []),
        _table("nothing", "", [""], []),
        _table("empty-cells", "", ["", ""], [["", ""], [None, None]]),
        _table("repeated-names", "Scores", ["team", "score", "score"], [["Ajax", 2, 1]]),
        _table(
            "types", "Cells of all types", ["a", "b", "c", "d", "e"],
            [[None, 7, -2.5e300, b"\x00\xff", "text"], [True, 2**70, float("inf"), b"", ""]],
        ),
        _table("wide", "A wide table", [f"column {i}" for i in range(300)], [list(range(300))]),
        _table("long-cell", "A long cell", ["essay"], [["river " * 20_000]]),
        _table("long", "Many rows", ["number"], [[i] for i in range(3_000)]),
        _table("scripts", "مرحبا 東京 🚀👩‍👩‍👧", ["naïve ⚽", "שלום"], [["Ελλάδα", "e\u0301"]]),
        _table("lines", "Line\nbreaks | and\ttabs", ["a|b", "c\r\nd"], [["<b>&amp;</b>", '","']]),
        Table(TableId(NO_DATABASE, "tuples"), ("river", "mouth"), (("Rhine", "North Sea"),), {}),
        Table(
            TableId(NO_DATABASE, "context"), ["x"], [["y"]],
            {"title": None, "section_title": "", "primary_key": ["x"], "foreign_keys": []},
        ),
    ]  # fmt: skip
    queries = ("the longest river", "score of Ajax", "7", "column 42")
    return Sample("twelve odd tables", MemoryCorpus(tables), queries)


def single() -> Sample:
    """Return one table alone."""
    corpus = MemoryCorpus([_table("only", *_TOPICS[0][:3])])
    return Sample("a corpus of one table", corpus, (QUERIES[0], "zebra"))


def _table(name: str, title: str, header: list[str], rows: Rows) -> Table:
    context = {"title": title, "section_title": ""}
    return Table(TableId(NO_DATABASE, name), list(header), [list(row) for row in rows], context)


_TOPICS: tuple[tuple[str, list[str], Rows, str], ...] = (
    ("Highest mountains", ["mountain", "metres"], [["Everest", "8849"], ["K2", "8611"]],
     "How high is Everest?"),
    ("Rivers of Europe", ["river", "mouth"], [["Danube", "Black Sea"], ["Rhine", "North Sea"]],
     "Into which sea does the Danube flow?"),
    ("Painters", ["painter", "born"], [["Rembrandt", "1606"], ["Frida Kahlo", "1907"]],
     "When was the painter Frida Kahlo born?"),
    ("Planets", ["planet", "moons"], [["Mars", "2"], ["Neptune", "16"]],
     "number of moons of Neptune"),
    ("Chemical elements", ["element", "symbol"], [["Tungsten", "W"], ["Gold", "Au"]],
     "symbol of the element Tungsten"),
    ("World chess champions", ["player", "years"], [["Tal", "1960–61"], ["Karpov", "1975–85"]],
     "chess champion of 1975"),
    ("Bridges", ["bridge", "city"], [["Golden Gate", "San Francisco"], ["Rialto", "Venice"]],
     "In which city is the Rialto bridge?"),
    ("Currencies", ["country", "currency"], [["Japan", "Yen"], ["Poland", "Złoty"]],
     "currency of Japan"),
    ("Film awards", ["film", "prize"], [["Parasite", "Best Picture"], ["Roma", "Best Director"]],
     "Which prize did the film Parasite win?"),
    ("Marathon records", ["runner", "time"], [["Kiptum", "2:00:35"], ["Kosgei", "2:14:04"]],
     "marathon record of Kiptum"),
)  # fmt: skip

_OTHER_TOPICS: tuple[tuple[str, list[str], Rows, str], ...] = (
    ("Recipes", ["dish", "minutes"], [["Lasagne", "90"], ["Borscht", "120"]],
     "How long does borscht take?"),
    ("Ferries", ["port", "departure"], [["Oslo", "14:00"], ["Kiel", "13:45"]],
     "When does the ferry leave Kiel?"),
    ("Songbirds", ["bird", "grams"], [["Wren", "9"], ["Blackbird", "100"]],
     "weight of a wren"),
)  # fmt: skip

QUERIES = tuple(topic[3] for topic in _TOPICS)
"""One about each ordinary table."""

TEXTS = (
    # Other scripts, emoji, combining and invisible characters.
    "naïve café", "東京 の 人口", "مرحبا بالعالم", "שלום עולם", "Ελλάδα", "🚀 👩‍👩‍👧 🇫🇷",
    "e\u0301 vs é", "zero\u200bwidth\u202eoverride", "𝕄𝕒𝕥𝕙 ½ ²",
    # What search engines, templates and models could take for something else than text.
    'AND OR NOT (', '"unclosed', "title:x* ^2 ~0.5", "a' OR '1'='1", "%_\\", "{{x}} ${y} {0}",
    "SELECT * FROM t; --", "<script>&amp;", "new\nline\ttab\r\n", "?!.,;", "-1", "[CLS] [SEP] </s>",
    "", " ", "\n\t ", "a",
)  # fmt: skip
"""Queries of all kinds."""

LONG_TEXTS = ("mountain " * 10_000, "x" * 50_000)
