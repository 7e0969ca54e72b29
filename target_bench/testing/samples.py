"""The tables and queries of the checks: small, of our own making, and awkward in all allowed ways.

Every function makes new objects, so that a plug-in that changes what it is given spoils no other
check.
"""

from typing import Any, NamedTuple

from target_bench.core.schema import NO_DATABASE, Table, TableId
from target_bench.data.tables import MemoryCorpus


class Sample(NamedTuple):
    """A corpus to check with, what to ask of it, and what messages call it."""

    name: str
    corpus: MemoryCorpus
    queries: tuple[str, ...]


_TOPICS = [
    line.split(" | ")
    for line in """\
Highest mountains | mountain, metres | Everest, 8849 | K2, 8611 | How high is Everest?
Rivers of Europe | river, mouth | Danube, Black Sea | Rhine, North Sea | Where does the Danube end?
Painters | painter, born | Rembrandt, 1606 | Frida Kahlo, 1907 | When was Frida Kahlo born?
Planets | planet, moons | Mars, 2 | Neptune, 16 | number of moons of Neptune
Chemical elements | element, symbol | Tungsten, W | Gold, Au | symbol of the element Tungsten
World chess champions | player, years | Tal, 1960–61 | Karpov, 1975–85 | chess champion of 1975
Bridges | bridge, city | Golden Gate, San Francisco | Rialto, Venice | city of the bridge Rialto
Currencies | country, currency | Japan, Yen | Poland, Złoty | currency of Japan
Film awards | film, prize | Parasite, Best Picture | Roma, Best Director | prize of Parasite
Marathon records | runner, time | Kiptum, 2:00:35 | Kosgei, 2:14:04 | marathon record of Kiptum
Recipes | dish, minutes | Lasagne, 90 | Borscht, 120 | How long does borscht take?
Ferries | port, departure | Oslo, 14:00 | Kiel, 13:45 | When does the ferry leave Kiel?
Songbirds | bird, grams | Wren, 9 | Blackbird, 100 | weight of a wren""".splitlines()
]
"""Of each table the title, the header, two rows, and a query about it."""

_N = 10
QUERIES = tuple(topic[-1] for topic in _TOPICS[:_N])
"""One about each ordinary table."""


def ordinary(telling_ids: bool = False) -> Sample:
    """Return ten tables about ten things, in an order that is not that of ids or queries.

    Args:
        telling_ids: whether the id of a table is a query about another one. The ids sort alike.
    """
    places = [*range(1, _N, 2), *range(_N - 2, -1, -2)]
    words = [f" {QUERIES[(n + 3) % _N]}" if telling_ids else "" for n in range(_N)]
    tables = [_about(n, f"{n:02d}{words[n]}") for n in places]
    return Sample("the ten ordinary tables", MemoryCorpus(tables), QUERIES)


def other() -> Sample:
    """Return three tables about other things, under other ids."""
    places = range(_N, len(_TOPICS))
    corpus = MemoryCorpus([_about(n, f"other-{n}") for n in places])
    return Sample("three tables about other things", corpus, tuple(_TOPICS[n][-1] for n in places))


def single() -> Sample:
    """Return one table alone."""
    corpus = MemoryCorpus([_about(0, "only")])
    return Sample("a corpus of one table", corpus, (QUERIES[0], "zebra"))


def copies() -> tuple[Sample, list[list[TableId]]]:
    """Return tables of which some have the same content, and the ids of those.

    Three ordinary ones occur twice, and one under the same table id in three databases.
    """
    singers = [
        Table(TableId(database, "singer"), ["singer", "age"], [["Joe Sharp", "52"]], {"title": ""})
        for database in ("concerts", "choirs", "festivals")
    ]
    again = [_about(n, f"copy-{n:02d}") for n in range(3)]
    groups = [[TableId(NO_DATABASE, f"{n:02d}"), table.id] for n, table in enumerate(again)]
    corpus = MemoryCorpus([*ordinary().corpus, *again, *singers])
    queries = (*QUERIES, "How old is the singer Joe Sharp?")
    sample = Sample("tables of which some occur twice or more", corpus, queries)
    return sample, [*groups, [table.id for table in singers]]


def odd() -> Sample:
    """Return irregular tables as they occur in practice, under ids that do."""
    types = [None, 7, -2.5e300, b"\x00\xff", "text"], [True, 2**70, float("inf"), b"", ""]
    tables = [
        _table("a/b c.csv", "A table without rows", ["river", "length"], []),
        _table("https://example.org/w?title=Nothing&x=1#top", "", [""], []),
        _table('it\'s "empty"', "", ["", ""], [["", ""], [None, None]]),
        _table("CASE", "Scores", ["team", "score", "score"], [["Ajax", 2, 1]]),
        _table("case", "Cells of all types", ["a", "b", "c", "d", "e"], types),
        _table(" padded ", "A wide table", [f"column {i}" for i in range(300)], [[*range(300)]]),
        _table("x" * 300, "A long cell", ["essay"], [["river " * 20_000]]),
        _table("-1", "Many rows", ["number"], [[i] for i in range(3_000)]),
        _table("東京-🚲", "مرحبا 東京 🚀👩‍👩‍👧", ["naïve ⚽", "שלום"], [["Ελλάδα", "e\u0301"]]),
        _table("1", "Line\nbreaks | and\ttabs", ["a|b", "c\r\nd"], [["<b>&amp;</b>", '","']]),
        Table(TableId(NO_DATABASE, "tuples"), ("river", "mouth"), (("Rhine", "North Sea"),), {}),
        Table(
            TableId(NO_DATABASE, "context"), ["x"], [["y"]],
            {"title": None, "section_title": "", "primary_key": ["x"], "foreign_keys": []},
        ),
    ]  # fmt: skip
    queries = ("the longest river", "score of Ajax", "7", "column 42")
    return Sample("twelve odd tables", MemoryCorpus(tables), queries)


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


def _about(topic: int, name: str) -> Table:
    title, header, *rows, _query = _TOPICS[topic]
    return _table(name, title, header.split(", "), [row.split(", ") for row in rows])


def _table(name: str, title: str, header: list[str], rows: Any) -> Table:
    context = {"title": title, "section_title": ""}
    return Table(TableId(NO_DATABASE, name), header, [list(row) for row in rows], context)
