"""The tables, queries and requests of the checks: small and awkward, new objects at each call."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from target_bench.core import registry, schema
from target_bench.core.built_in import ANSWER_TASK
from target_bench.core.schema import NO_DATABASE, Corpus, Table, TableId
from target_bench.data.table_text import Serializer
from target_bench.data.tables import MemoryCorpus


class Sample(NamedTuple):
    """A corpus to check with, by the name of messages; what is looked for in it; queries."""

    name: str
    corpus: Corpus
    looked_for: list[str]
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
Ferries | port, departure | Oslo, 14:00 | Kiel, 13:45 | When does the ferry leave Kiel?
""".splitlines()
]
"""Of each table the title, header, two rows, and a query about it; the last is of ``other``."""

_N = len(_TOPICS) - 1
QUERIES = tuple(topic[-1] for topic in _TOPICS[:_N])
"""One about each ordinary table."""


def ordinary(telling_ids: bool = False) -> Sample:
    """Return ten tables about ten things, in an order that is not that of ids or queries.

    With ``telling_ids`` the id of a table holds a query about another one, and ids sort alike.
    """
    places = [*range(1, _N, 2), *range(_N - 2, -1, -2)]
    words = [f" {QUERIES[(n + 3) % _N]}" if telling_ids else "" for n in range(_N)]
    tables = [_topic_table(n, f"{n:02d}{words[n]}") for n in places]
    return Sample("the ten ordinary tables", *_corpus(tables), QUERIES)


def other() -> Sample:
    """Return one table about another thing."""
    return Sample(
        "a corpus of one table", *_corpus([_topic_table(_N, "1")]), (_TOPICS[_N][-1], "zebra")
    )


def odd() -> Sample:
    """Return irregular tables as they occur in practice, under ids that do.

    Three ordinary ones occur twice, and one under the same table id in three databases.
    """
    types = [None, 7, -2.5e300, b"\x00\xff", "text"], [True, 2**70, float("inf"), b"", ""]
    context = {"title": None, "section_title": "", "primary_key": ["x"], "foreign_keys": []}
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
        Table(TableId(NO_DATABASE, "context"), ["x"], [["y"]], context),
        *(_topic_table(n, f"{name}-{n}") for n in range(3) for name in ("copy", "again")),
        *(_table("singer", "", ["singer"], [["Joe Sharp"]], name) for name in ("x", "y", "z")),
    ]
    queries = ("the longest river", "score of Ajax", "7", "column 42", "How old is Joe Sharp?")
    return Sample("odd tables, and copies of tables", *_corpus(tables), (*queries, *QUERIES[:3]))


TEXTS = (
    "naïve café", "東京 の 人口", "مرحبا بالعالم", "שלום עולם", "Ελλάδα", "🚀 👩‍👩‍👧 🇫🇷",
    "e\u0301 vs é", "zero\u200bwidth\u202eoverride", "𝕄𝕒𝕥𝕙 ½ ²",
    'AND OR NOT (', '"unclosed', "title:x* ^2 ~0.5", "a' OR '1'='1", "%_\\", "{{x}} ${y} {0}",
    "SELECT * FROM t; --", "<script>&amp;", "new\nline\ttab\r\n", "?!.,;", "-1", "[CLS] [SEP] </s>",
    "", " ", "\n\t ", "a", "mountain " * 10_000, "x" * 50_000,
)  # fmt: skip
"""Queries in all scripts, long and empty ones, and what could be taken for code."""


def requests() -> list[schema.GenerationRequest]:
    """Return a question over three tables under each task there is."""
    tables = list(ordinary().corpus)[:3]
    pairs = zip(registry.names("task"), QUERIES, strict=False)
    return [request(task, question, tables, task=task) for task, question in pairs]


def odd_requests() -> list[schema.GenerationRequest]:
    """Return questions of all kinds over no table or an odd one, under odd ids."""
    small = [[], *([table] for table in odd().corpus if len(str(table.rows)) < 1_000)]
    given = [small[n % len(small)] for n in range(len(TEXTS))]
    pairs = enumerate(zip(TEXTS, given, strict=True))
    return [request(f"a/b\n東京 {n} ", text[:12_000], tables) for n, (text, tables) in pairs]


def request(
    query_id: str, question: str, tables: Iterable[Table] = (), **more: Any
) -> schema.GenerationRequest:
    """Return a request; ``more`` are fields of it."""
    tables = tuple(tables)
    prompt = "\n\n".join([*map(Serializer(), tables), f"Question: {question}"])
    system = schema.Message("system", "Answer from the tables. Answer with nothing else.")
    fields = {"task": ANSWER_TASK, "messages": (system, schema.Message("user", prompt))} | more
    return schema.GenerationRequest(query_id, query=question, tables=tables, **fields)


def _topic_table(topic: int, name: str) -> Table:
    title, header, *rows, _query = _TOPICS[topic]
    return _table(name, title, header.split(", "), [row.split(", ") for row in rows])


def _table(name: str, title: str, header: list[str], rows: Any, where: str = NO_DATABASE) -> Table:
    context = {"title": title, "section_title": ""}
    return Table(TableId(where, name), header, [list(row) for row in rows], context)


def _corpus(tables: Iterable[Table]) -> tuple[Corpus, list[str]]:
    """Return tables and nothing else, and a list that gets the names of what else is looked for."""
    held, looked_for = MemoryCorpus(tables), list[str]()

    class Shown(Corpus):
        __len__, __iter__, __getitem__ = held.__len__, held.__iter__, held.__getitem__
        ids, fingerprint = held.ids, held.fingerprint
        positions, groups = held.positions, held.groups

        def __getattr__(self, name: str) -> Any:
            looked_for.append(name)
            raise AttributeError(f"a corpus promises no attribute {name!r}")

    return Shown(), looked_for
