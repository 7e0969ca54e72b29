"""Write synthetic questions with known gold tables (``target-bench ask``), and rate them."""

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from random import Random
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

from target_bench.core import registry
from target_bench.core.contract import ask_if_paid, check_generator, plugin_errors
from target_bench.core.credentials import mask_settings
from target_bench.core.errors import ConfigError
from target_bench.core.metric import Score
from target_bench.core.observer import Observer
from target_bench.core.reasoning import without_reasoning
from target_bench.core.schema import (
    Corpus,
    Dataset,
    Generation,
    GenerationRequest,
    Message,
    Query,
    Table,
    TableId,
)
from target_bench.core.settings import read_whole
from target_bench.core.text_tables import list_first
from target_bench.data.highlights import cell_text
from target_bench.data.languages import name_language, recognize_language
from target_bench.data.load import load
from target_bench.data.table_text import LANGUAGE, Serializer
from target_bench.harness.consent import Confirm, estimate_generator
from target_bench.harness.evaluate import evaluate
from target_bench.models.generator_calls import ask_recorded
from target_bench.models.judges import last_object


@dataclass(frozen=True)
class SyntheticQuestions:
    """Synthetic questions, as ``ask`` returns them.

    ```python
    from target_bench import ask

    written = ask("mini", n=20)
    print(len(written.queries), written.wanted, written.queries[0].metadata["synthetic"])
    # 20 20 template
    ```

    Attributes:
        queries: the questions. Their metadata say what wrote them (``synthetic``) and which
            ``cells`` the answer comes from.
        wanted: the number of questions that was asked for.
        dropped: reason -> number of questions or tables that were left out.
    """

    queries: tuple[Query, ...]
    wanted: int
    dropped: Mapping[str, int]

    @property
    def several(self) -> int:
        """Count the questions with several gold tables, which hold the same cells."""
        return sum(len(query.gold) > 1 for query in self.queries)


@dataclass(frozen=True)
class Proposal:
    """A question about one table, before it is tried on the others.

    Attributes:
        table: the table.
        text: the question.
        answer: its answer.
        cells: the cells that the answer comes from: (row, column), from 0.
        columns: names of the columns that hold the evidence.
        values: their cells, as cells are compared.
        keys: cells of a row that the question names.
        topic: words of title or section that the question names.
    """

    table: TableId
    text: str
    answer: tuple[str, ...]
    cells: tuple[tuple[int, int], ...]
    columns: tuple[str, ...]
    values: frozenset[str]
    keys: frozenset[str]
    topic: frozenset[str]


AMBIGUOUS = "questions to which another table gives another answer"
SEVERAL_DATABASES = "questions that tables of several databases answer"
ELSEWHERE = "questions whose answer is not in the row that they name, or is blank"
REPEATED = "questions that were written twice"
NO_QUESTION = "tables without a column of unique names to ask about; a model (--generator) may"
TOO_LONG = "tables with more than 50,000 rows"


def ask(
    corpus: str | Path | Dataset | Corpus,
    n: int = 100,
    seed: int = 0,
    generator: object = None,
    *,
    tables: Collection[tuple[str, str]] | None = None,
    split: str | None = None,
    data_dir: str | Path | None = None,
    confirm: Confirm | None = None,
    observer: Observer | None = None,
) -> SyntheticQuestions:
    """Write questions with known gold tables about the tables of a corpus.

    ```python
    from target_bench import ask

    query = ask("mini", n=20).queries[0]
    print(query.text)  # 2016 Summer Olympics medal table: what is the rank of Great Britain?
    print(query.answer, query.gold[0])  # 2 0/olympics-2016-medals
    ```

    A table that gives the same answer is gold, too; a question to which another table gives another
    answer is dropped.

    Args:
        corpus: by name, path, or loaded already; it needs no queries.
        n: the number of questions.
        seed: the same seed gives the same questions, or asks a generator about the same tables.
        generator: a generator that writes the questions, or its name with settings. Default:
            templates in English and German, which look up a cell by a unique name.
        tables: ids of the tables to ask about; default: all.
        split: the split; default: the corpus's own.
        data_dir: as for ``load``.
        confirm: is asked before requests that may cost money; None: they are sent.
        observer: gets progress and warnings.

    Raises:
        ConfigError: ``n`` is not a whole number from 1, a name or a table is unknown, or the paid
            requests were not confirmed.
        DataError: files are missing or broken.
        PluginError: the generator breaks its contract.
    """
    number = read_whole("n", n, 1)
    if number is None:
        raise ConfigError("n=None: expected a whole number from 1")
    if isinstance(corpus, str | Path):
        corpus = load(corpus, split, data_dir=data_dir)
    corpus = corpus.corpus if isinstance(corpus, Dataset) else corpus
    unknown = [name for name in tables or () if name not in corpus]
    if unknown:
        raise ConfigError(
            f"tables: {unknown[0]!r:.80} is not a table of the corpus; name tables as `corpus.ids` "
            "does: (database, table)"
        )
    observer = observer or Observer()
    ids = [name for name in corpus.ids if tables is None or name in tables]
    ids.sort(key=lambda name: _hash(seed, *name))
    writer = (
        _TemplateWriter(corpus, seed)
        if generator is None
        else _ModelWriter(corpus, generator, confirm, observer)
    )
    observer.stage("ask", total=number)
    kept: dict[str, Query] = {}
    dropped: Counter[str] = Counter()
    for proposals in writer.propose(ids, number):
        before = len(kept)
        for query in _unambiguous(list(proposals), corpus, writer.name, dropped):
            if query.text in kept:
                dropped[REPEATED] += 1
            elif len(kept) < number:
                kept[query.text] = query
        observer.advance(len(kept) - before)
        if len(kept) == number:
            break
    queries = (
        replace(query, id=f"synthetic-{i:04d}") for i, query in enumerate(kept.values(), start=1)
    )
    return SyntheticQuestions(tuple(queries), number, dict(dropped + writer.dropped))


PROBES = {"bm25": "bm25", "titles alone": "bm25:fields=[title]", "random": "random"}
"""A good retriever, the titles that give questions away, and chance."""


def rate_questions(dataset: Dataset, queries: Sequence[Query]) -> dict[str, Score]:
    """Return recall@1 of each of ``PROBES``: how far questions tell retrievers apart."""
    synthetic = replace(dataset, queries=tuple(queries))
    with TemporaryDirectory() as folder:
        results = evaluate(
            list(PROBES.values()),
            synthetic,
            name=list(PROBES),
            top_k=1,
            out=folder,
            observer=_Silent(),
        )
        return {name: results[name]["recall@1"] for name in PROBES}


class _Silent(Observer):
    """Drops warnings: the run that follows has the same."""

    def warning(self, message: str) -> None:
        """Print nothing."""


def find_weakness(scores: Mapping[str, Score]) -> str | None:
    """Say why questions of these ratings cannot tell retrievers apart; None if they can."""
    bm25, titles, chance = (scores[name] for name in PROBES)
    if chance.value >= 0.5:
        share = f"{chance.value:.0%} of the gold tables are found by chance"
        return f"{share}, as there are so few: no retriever can be told from another"
    if bm25.n < 20:
        return f"{bm25.n} questions tell little: a difference of 20 points can be chance"
    if bm25.value >= 0.95:
        return "bm25 has nearly all right: better retrievers look no better. Try --generator"
    if titles.value > (bm25.value + chance.value) / 2:
        return "titles alone do nearly as well: the questions give them away"
    if not bm25.low > chance.high:
        return "bm25 is not better than chance: they are too few, or fit too many tables"
    return None


class _TemplateWriter:
    """Asks for a cell of the row that a unique name stands for."""

    name = "template"

    def __init__(self, corpus: Corpus, seed: int) -> None:
        self._corpus, self._seed = corpus, seed
        self._counts: Counter[str] = Counter()
        self._foreign: dict[str, list[str]] = defaultdict(list)

    @property
    def dropped(self) -> Counter[str]:
        """Reason -> number of tables left out; those in other languages are named."""
        counts = self._counts.copy()
        for language, labels in self._foreign.items():
            some = list_first(sorted(labels), 5)
            counts[f"tables in {language}, which no template speaks ({some})"] = len(labels)
        return counts

    def propose(self, ids: Sequence[TableId], number: int) -> Iterator[list[Proposal]]:
        """Yield proposals about some tables at a time, each table once a round."""
        open_ids = list(ids)
        for turn in range(_MOST_TURNS):
            still_open: list[TableId] = []
            size = max(number, 50)
            for start in range(0, len(open_ids), size):
                proposals = []
                for table in open_ids[start : start + size]:
                    if proposal := self._propose(table, turn):
                        proposals.append(proposal)
                        still_open.append(table)
                yield proposals
            open_ids = still_open

    def _propose(self, table: TableId, turn: int) -> Proposal | None:
        view = _TableView(self._corpus[table])
        if view.is_long:
            self._counts[TOO_LONG] += 1
            return None
        language = _language(view.table) or self._corpus_language
        if language not in TEMPLATES:
            self._foreign[name_language(language)].append(table.label)
            return None
        lookups = _lookups(view)
        if not lookups and not turn:
            self._counts[NO_QUESTION] += 1
        rng = Random(_hash(self._seed, *table))  # noqa: S311  # chance, no secret
        rng.shuffle(lookups)
        if turn >= len(lookups):
            return None
        row, key, column = lookups[turn]
        name = view.names[column]
        values = {"column": name, "key": _spoken(view.rows[row][key])}
        template = rng.choice(TEMPLATES[language])
        if _PLURAL.search(name):  # "what is the points of" is no English
            template = TEMPLATES[language][-1]
        text = template.format(**values)
        topic = _topic(view) if rng.random() < _WITH_TOPIC else ""
        return Proposal(
            table,
            f"{topic}: {text[0].lower()}{text[1:]}" if topic else text,
            (view.rows[row][column],),
            ((row, column),),
            (name,),
            frozenset({_plain(view.rows[row][column])}),
            frozenset({_plain(view.rows[row][key])}),
            frozenset(_words(topic)),
        )

    @cached_property
    def _corpus_language(self) -> str:
        """The language of most of 100 tables, for those that do not show theirs."""
        step = max(1, len(self._corpus) // 100)
        shown = map(_language, (self._corpus[name] for name in self._corpus.ids[::step]))
        counts = Counter(code for code in shown if code)
        return max(counts, key=lambda code: counts[code], default="en")


TEMPLATES: Mapping[str, Sequence[str]] = {
    "en": ("What is the {column} of {key}?", "What is listed as {column} for {key}?"),
    "de": ("Was ist bei {key} als {column} angegeben?", "Was steht bei {key} als {column}?"),
}
"""Language -> ways to ask for a cell. Nothing is known of a column but its name."""

_MOST_TURNS = 50
_WITH_TOPIC = 0.7
_PLURAL = re.compile(r"[^siu]s$")
# fmt: off
_UNASKED = {
    "id", "ids", "uid", "key", "code", "codes", "url", "uri", "link", "email", "phone", "fax",
    "zip", "note", "notes", "no", "nr", "ref", "reference", "references", "source", "comment",
    "comments", "description", "details", "kommentar",
}
_TOTALS = {"total", "totals", "average", "sum", "all", "other", "others", "summe", "gesamt"}
# fmt: on


def _lookups(view: "_TableView") -> list[tuple[int, int, int]]:
    """Return the (row, key column, column asked for) that a template can ask for."""
    key = next((column for column in view.names if _is_key(view, column)), None)
    if key is None:
        return []
    return [
        (row, key, column)
        for column, name in view.names.items()
        if column != key and _UNASKED.isdisjoint(_words(name))
        # a column of one value is asked for by nobody
        if len({_plain(cells[column]) for cells in view.rows}) > 1
        for row, cells in enumerate(view.rows)
        if _is_said(cells[key])
        and len(view.places[_plain(cells[key])]) == 1  # a runner-up may have won another year
        and _TOTALS.isdisjoint(_words(cells[key]))
        and _plain(cells[column]) not in _BLANK
        and "\n" not in cells[column]
        and _plain(cells[column]) != _plain(cells[key])
    ]


def _is_key(view: "_TableView", column: int) -> bool:
    """Check that each row has another text in a column, with letters."""
    texts = [_plain(row[column]) for row in view.rows]
    return (
        len(texts) > 1
        and len(set(texts)) == len(texts)
        and all(any(map(str.isalpha, text)) for text in texts)
    )


def _is_said(cell: str) -> bool:
    return "\n" not in cell and 0 < len(_words(cell)) <= _MOST_WORDS


_MOST_WORDS = 8


def _topic(view: "_TableView") -> str:
    """Return title or section as a person says it; "" where there is none."""
    texts = (_spoken(title.replace("_", " ")) for title in view.titles)
    return next((text for text in texts if text and len(text.split()) <= _MOST_WORDS), "")


def _language(table: Table) -> str | None:
    """Return the language that a table names or shows; None where it is unclear."""
    if code := table.context.get(LANGUAGE):
        return str(code)
    header = " ".join(table.header).lower()
    return recognize_language([header], _SURE) or recognize_language([_FIRST_ROWS(table)], _SURE)


# Column names and names of people are .9 of some language, so .6 is enough to leave a table out.
_SURE = 0.6
_FIRST_ROWS = Serializer(rows=20)


QUESTIONS = 3
"""Questions that a model is asked for about a table."""

_SHOWN_ROWS = 40
_TEXT = {"type": "string"}
_CELL = {"row": {"type": "integer"}, "column": _TEXT, "value": _TEXT}


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    required = list(properties)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _array(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


SCHEMA = _object(
    {
        "questions": _array(
            _object(
                {"question": _TEXT, "answer": _array(_TEXT), "cells": _array(_object(_CELL))},
            )
        )
    }
)
"""JSON schema of a model's reply."""

_PROMPT = """\
Write {n} questions that the table below answers, in the language of the table, as somebody would
ask them who wants to know the answer and has not seen the table. Do not mention the table, its rows
or its columns. Use other words than the table where that is natural. Each question should name
enough to tell the table from others of its kind: a name, a place, a year.

Reply with JSON: {{"questions": [{{"question": "...", "answer": ["..."],
"cells": [{{"row": 1, "column": "...", "value": "..."}}]}}]}}. The answer is a list of texts: cells
as they stand, or one number that is a count, sum, mean, minimum, maximum or difference of cells.
"cells" lists every cell that the answer follows from, and those that the question names, with the
number of the row, the name of the column and the value as they stand in the table.

{titles}
{table}
"""

FAILED = "requests to the generator that failed"
NO_JSON = "replies without JSON of questions"
INCOMPLETE = "questions without text, answer or cells"
NO_SUCH_CELL = "questions about a cell that the table does not hold"
UNSUPPORTED = "questions with an answer that does not follow from its cells"
NAMELESS = "questions that name nothing that the table holds"


class _ModelWriter:
    """Has a generator write questions: one request a table, all in one batch."""

    def __init__(
        self, corpus: Corpus, generator: Any, confirm: Confirm | None, observer: Observer
    ) -> None:
        label = generator if isinstance(generator, str) else type(generator).__name__
        self.name = mask_settings(label)
        if isinstance(generator, str):
            generator = registry.create("generator", generator)
        self._generator = check_generator(generator)
        self._corpus, self._confirm, self._observer = corpus, confirm, observer
        self.dropped: Counter[str] = Counter()

    def propose(self, ids: Sequence[TableId], number: int) -> Iterator[list[Proposal]]:
        """Yield the questions of one batch of requests; a third of them may be dropped."""
        views = [
            _TableView(self._corpus[table]) for table in ids[: -(-2 * number // (QUESTIONS + 1))]
        ]
        views = [view for view in views if view.rows and not view.is_long]
        requests = [_request(view) for view in views]
        ask_if_paid(
            self._generator,
            self._confirm,
            lambda: estimate_generator(self._generator, self.name, requests),
        )
        with plugin_errors(f"generator {self.name}", "generate"):
            replies = ask_recorded(
                self._generator,
                requests,
                "questions",
                lambda answer: _read_questions(answer.text) is not None,
                self._observer,
            )
            answers = {reply.query_id: reply for reply in replies}
        yield [
            proposal for view in views for proposal in self._accepted(view, answers.get(view.label))
        ]

    def _accepted(self, view: "_TableView", answer: Generation | None) -> Iterator[Proposal]:
        if answer is None or answer.error is not None:
            kind = "no answer" if answer is None else str(answer.error).partition(":")[0]
            self.dropped[f"{FAILED}: {kind}"] += 1
            return
        records = _read_questions(answer.text)
        if records is None:
            self.dropped[NO_JSON] += 1
        for record in records or ():
            proposal = _check_question(view, record)
            if isinstance(proposal, str):
                self.dropped[proposal] += 1
            else:
                yield proposal


def _request(view: "_TableView") -> GenerationRequest:
    header = ["row", *(" ".join(name.split()) for name in view.table.header)]
    rows = [[str(i), *row] for i, row in enumerate(view.rows[:_SHOWN_ROWS], start=1)]
    lines = [" | ".join(" ".join(cell.split()) for cell in row) for row in [header, *rows]]
    titles = "\n".join(view.titles)
    prompt = _PROMPT.format(n=QUESTIONS, titles=titles, table="\n".join(lines))
    return GenerationRequest(
        view.label, "ask", (Message("user", prompt),), prompt, answer_schema=SCHEMA
    )


def _read_questions(reply: str) -> list[Any] | None:
    """Return the records of a reply, with words around its JSON or without; None without any."""
    text = without_reasoning(reply)
    begun = [match.start() for match in re.finditer(r'\{\s*"questions"', text)]
    for candidate in (reply, *(text[start:] for start in begun[-1:])):
        questions = (last_object(candidate) or {}).get("questions")
        if isinstance(questions, list):
            return questions
    return None


def _check_question(view: "_TableView", record: Any) -> Proposal | str:
    """Return the question of a record that its table answers, or why it is dropped."""
    try:
        text = " ".join(record["question"].split())
        answer = tuple(str(value) for value in record["answer"])
        listed = [(int(c["row"]) - 1, str(c["column"]), str(c["value"])) for c in record["cells"]]
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
        return INCOMPLETE
    if not (text and answer and listed and all(map(_plain, answer))):
        return INCOMPLETE
    columns = {_plain(name): column for column, name in view.names.items()}
    cells: dict[tuple[int, int], str] = {}
    for row, name, value in listed:
        column = columns.get(_plain(_column_name(name)))
        if column is None or not 0 <= row < len(view.rows):
            return NO_SUCH_CELL
        if _plain(view.rows[row][column]) != _plain(value):
            return NO_SUCH_CELL
        cells[row, column] = view.rows[row][column]
    if not _follows(answer, list(cells.values())):
        return UNSUPPORTED
    question = f" {' '.join(_words(text))} "
    named: dict[int, set[str]] = defaultdict(set)
    for (row, _), cell in cells.items():
        spoken = " ".join(_words(cell))
        if spoken and f" {spoken} " in question and cell not in answer:
            named[row].add(_plain(cell))
    keys = max(named.values(), key=len, default=set())
    title_words = {word for word in _words(" ".join(view.titles)) if len(word) > 2}
    topic = frozenset(title_words.intersection(_words(text)))
    if not keys and not topic:
        return NAMELESS
    given = set(map(_plain, answer))
    of_answer = [place for place, cell in cells.items() if _plain(cell) in given] or list(cells)
    evidence = tuple(dict.fromkeys(view.names[column] for _, column in of_answer))
    values = frozenset(_plain(cells[place]) for place in of_answer)
    return Proposal(
        view.table.id, text, answer, tuple(cells), evidence, values, frozenset(keys), topic
    )


def _follows(answer: Sequence[str], cells: Sequence[str]) -> bool:
    """Check that an answer is cells, or a number that follows from the numbers of cells."""
    if set(map(_plain, answer)) <= set(map(_plain, cells)):
        return True
    number = _number(answer[0]) if len(answer) == 1 else None
    if number is None:
        return False
    results = {float(len(cells))}
    if numbers := [value for value in map(_number, cells) if value is not None]:
        mean = fmean(numbers)
        results |= {sum(numbers), mean, round(mean, 1), round(mean, 2), min(numbers), max(numbers)}
        results |= {abs(a - b) for a in numbers for b in numbers}
    return any(abs(abs(number) - abs(result)) <= 1e-9 * max(1, abs(number)) for result in results)


def _number(text: str) -> float | None:
    """Return the number of a cell such as ``1,234.5`` or ``$ 5``; None of any other text."""
    digits = re.fullmatch(r"[$€£]?\s?([-−]?\d{1,3}(?:,\d{3})+|[-−]?\d+)(\.\d+)?\s?%?", text.strip())
    if digits is None:
        return None
    return float((digits[1] + (digits[2] or "")).replace(",", "").replace("−", "-"))


def _unambiguous(
    proposals: Sequence[Proposal], corpus: Corpus, writer: str, dropped: Counter[str]
) -> Iterator[Query]:
    """Yield the questions that their gold tables alone answer, in one pass over the corpus."""
    by_key: dict[str, list[int]] = defaultdict(list)  # one of the things that it names
    for i, proposal in enumerate(proposals):
        by_key[min(proposal.keys, default="")].append(i)
    asked_columns = {_plain(name) for proposal in proposals for name in proposal.columns}
    found: list[dict[TableId, frozenset[str]]] = [{} for _ in proposals]
    for table in corpus if proposals else ():
        if asked_columns.isdisjoint(_plain(_column_name(name)) for name in table.header):
            continue
        view = _TableView(table)
        for i in {i for key in view.places.keys() & by_key.keys() for i in by_key[key]}:
            if values := view.look_up(proposals[i]):
                found[i][table.id] = values
    for proposal, values_by_table in zip(proposals, found, strict=True):
        if len(set(values_by_table.values())) > 1:
            dropped[AMBIGUOUS] += 1
        elif len({table.database_id for table in values_by_table}) > 1:
            dropped[SEVERAL_DATABASES] += 1
        elif not proposal.values <= values_by_table.get(proposal.table, frozenset()):
            dropped[ELSEWHERE] += 1
        else:
            yield _query(proposal, tuple(values_by_table), corpus[proposal.table], writer)


def _query(proposal: Proposal, gold: tuple[TableId, ...], table: Table, writer: str) -> Query:
    cells = [
        {
            "row": row + 1,
            "column": str(table.header[column]),
            "value": cell_text(table.rows[row][column]).strip(),
        }
        for row, column in proposal.cells
    ]
    return Query(
        id="",
        text=proposal.text,
        gold=gold,
        answer=proposal.answer[0] if len(proposal.answer) == 1 else proposal.answer,
        database_id=proposal.table.database_id,
        metadata={"synthetic": writer, "cells": cells},
    )


class _TableView:
    """The cells of a table as texts, and its columns by the names that questions use."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.label = str(table.id)
        self.is_long = len(table.rows) > _MOST_ROWS
        self.rows = [[cell_text(cell).strip() for cell in row] for row in table.rows[:_MOST_ROWS]]
        names = [_column_name(name) for name in table.header]
        counts = Counter(map(_plain, names))
        self.names = {i: name for i, name in enumerate(names) if name and counts[_plain(name)] == 1}

    @cached_property
    def titles(self) -> list[str]:
        """Title and section; not the path of a file, which nobody knows who asks."""
        texts = (self.table.context.get(key) for key in ("title", "section_title"))
        known = _words(self.table.id.table_id)
        return [str(text) for text in texts if text and _words(str(text)) != known]

    @cached_property
    def places(self) -> dict[str, set[int]]:
        """Cell -> the rows that hold it; "" -> all rows."""
        places: dict[str, set[int]] = defaultdict(set)
        for number, row in enumerate(self.rows):
            for cell in row:
                places[_plain(cell)].add(number)
        places[""] = set(range(len(self.rows)))
        return places

    def look_up(self, proposal: Proposal) -> frozenset[str]:
        """Return the values that this table has for a question; empty where it has none."""
        columns = {_plain(name): column for column, name in self.names.items()}
        wanted = [columns.get(_plain(name)) for name in proposal.columns]
        if not proposal.topic <= set(_words(" ".join(self.titles))):
            return frozenset()
        rows = set.intersection(*(self.places.get(key, set()) for key in proposal.keys or {""}))
        return frozenset(
            _plain(self.rows[row][column])
            for row in rows
            for column in wanted
            if column is not None and _plain(self.rows[row][column]) not in _BLANK
        )


_MOST_ROWS = 50_000
_BLANK = frozenset({"", "-", "–", "—", "?", "n/a", "null", "nan", "none", "unknown"})
_BRACKETS = re.compile(r"\s*[(\[][^)\]]*[)\]]")


def _spoken(cell: str) -> str:
    """Return a cell without brackets, footnote marks and quotes."""
    return " ".join(_BRACKETS.sub("", cell).split()).strip(" \"'“”„*†‡#,;:")


def _plain(cell: str) -> str:
    """Return the text by which cells, names and values are compared."""
    return _spoken(cell).casefold()


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def _column_name(name: str) -> str:
    """Return the name of a column in one line, without brackets; "" if it does not read as one."""
    text = " ".join(name.partition("(")[0].replace("_", " ").split()).strip(" .:*#/-")
    words = [word.lower() if word.istitle() else word for word in text.split()]
    return " ".join(words) if any(map(str.isalpha, text)) and len(text) > 1 else ""


def _hash(*parts: object) -> str:
    """Return a text that decides order and chance: the same for the same parts, everywhere."""
    return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()
