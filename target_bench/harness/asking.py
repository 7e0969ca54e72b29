"""Synthetic questions with gold tables for the tables of a corpus (``target-bench ask``)."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

from target_bench.core import registry
from target_bench.core.contract import ask_if_paid, check_generator, plugin_errors
from target_bench.core.credentials import masked_settings
from target_bench.core.errors import ConfigError
from target_bench.core.metric import SYNTHETIC, Score
from target_bench.core.observer import Observer
from target_bench.core.schema import Corpus, Dataset, Generation, Query, TableId
from target_bench.core.settings import whole
from target_bench.data.languages import AnyLanguage, Language, language_name
from target_bench.data.load import load
from target_bench.data.table_text import languages_in, recognised_in, table_language
from target_bench.harness.evaluate import evaluate
from target_bench.harness.questions import from_model, templates
from target_bench.harness.questions.grounding import (
    Answers,
    Difficulty,
    Proposal,
    Rarity,
    TableView,
    answers,
    difficulty_of,
    is_repeated,
)
from target_bench.harness.stages.consent import Confirm, of_generator
from target_bench.models.generator_calls import recorded_answers

MIXED: Literal["mixed"] = "mixed"

DifficultyOrMixed = Difficulty | Literal["mixed"]
"""A difficulty, or a mixture of them."""

_SHARES: Mapping[Difficulty, float] = {"hard": 0.55, "medium": 0.37, "easy": 0.08}
"""The mixture; docs/synthetic.md says where it is from."""

_PER_TABLE = 8
_FEWEST_TABLES = 50

AMBIGUOUS = "questions to which another table gives another answer"
SEVERAL_DATABASES = "questions that tables of several databases answer"
UNANSWERED = "questions that their own table was not found to answer"
OTHER_DIFFICULTY = "questions of another difficulty"
REPEATED = "questions in nearly the words of another one about the table"
NO_QUESTION = "tables about which no template can ask; a model (--generator) may"


@dataclass(frozen=True)
class SyntheticQuestions:
    """Synthetic questions.

    Attributes:
        queries: the questions. The metadata of each says that it is ``synthetic`` and by what,
            its ``template``, ``difficulty``, number of ``rare_words``, and the ``cells`` that its
            answer comes from.
        wanted: how many were wanted.
        dropped: reason -> how many questions were dropped for it.
    """

    queries: tuple[Query, ...]
    wanted: int
    dropped: Mapping[str, int]

    def counts(self, name: str) -> dict[str, int]:
        """Count the questions by ``difficulty``, ``template`` or other metadata, most first."""
        return dict(Counter(str(query.metadata[name]) for query in self.queries).most_common())

    @property
    def several(self) -> int:
        """How many questions have several gold tables, which hold the same cells."""
        return sum(len(query.gold) > 1 for query in self.queries)


def checked_difficulty(name: str) -> DifficultyOrMixed:
    """Return a difficulty by its name.

    Raises:
        ConfigError: there is none of this name.
    """
    match = next((known for known in (*_SHARES, MIXED) if known == name), None)
    if match is None:
        raise ConfigError(f"difficulty {name!r}: expected easy, medium, hard or mixed")
    return match


def ask(
    corpus: str | Path | Dataset | Corpus,
    n: int = 100,
    seed: int = 0,
    difficulty: DifficultyOrMixed = MIXED,
    generator: object = None,
    *,
    language: AnyLanguage = "auto",
    tables: Collection[tuple[str, str]] | None = None,
    split: str | None = None,
    data_dir: str | Path | None = None,
    confirm: Confirm | None = None,
    observer: Observer | None = None,
) -> SyntheticQuestions:
    """Write questions with known gold tables about the tables of a corpus.

    What a question asks is tried on every table of the corpus: its gold tables give the answer, and
    no other table gives another one.

    Args:
        corpus: by name, path, or loaded already; it needs no queries.
        n: how many questions.
        seed: the same seed gives the same questions, or asks a generator about the same tables.
        difficulty: by the number of rare words of a question (words that its table and at most one
            in a hundred hold): four or more for ``easy``, two or three for ``medium``, fewer for
            ``hard``.
        generator: a generator that writes the questions, or its name with settings; default:
            templates.
        language: of the questions from templates (``en``, ``de``, ``fr`` or ``es``); ``auto``: of
            each table the one that it is in.
        tables: ids of the tables to ask about; default: all.
        split: the split; default: the corpus's own.
        data_dir: as for ``corpora.load``.
        confirm: is asked before requests that may cost money; None: they are sent.
        observer: gets progress and warnings.

    Raises:
        ConfigError: ``n`` is not a whole number from 1, a name or a table is unknown, there are no
            templates in the language, or the requests were not agreed to.
        DataError: files are missing or broken.
        PluginError: the generator breaks its contract.
    """
    number = whole(1)("n", n)
    if number is None:
        raise ConfigError("n=None: expected a whole number from 1")
    checked_difficulty(difficulty)
    if isinstance(corpus, str | Path):
        corpus = load(corpus, split, data_dir=data_dir)
    tables_of_corpus = corpus.corpus if isinstance(corpus, Dataset) else corpus
    unknown = [name for name in tables or () if name not in tables_of_corpus]
    if unknown:
        raise ConfigError(
            f"tables: {unknown[0]!r:.80} is not a table of the corpus; name tables as `corpus.ids` "
            "does: (database, table)"
        )
    observer = observer or Observer()
    languages = languages_in(tables_of_corpus, language)
    if generator is not None:
        writer = _from_model(generator, confirm, observer)
    else:
        in_one = len(languages) == 1 and language == "auto" and recognised_in(tables_of_corpus)
        recognised = (in_one,) if in_one else languages
        if set(templates.LANGUAGES).isdisjoint(recognised):
            known = ", ".join(map(language_name, templates.LANGUAGES))
            names = ", ".join(map(language_name, recognised))
            raise ConfigError(
                f"the tables are in {names}, and templates ask in {known}. Let a model "
                "write the questions (--generator), or name a language (--language en)"
            )
        writer = _from_templates(seed, languages, follow_tables=language == "auto")
    ids = [name for name in tables_of_corpus.ids if tables is None or name in tables]
    ids.sort(key=lambda name: _hash(seed, *name))
    if writer.per_table > 1:  # a third of a model's questions is dropped
        ids = ids[: -(-2 * number // (writer.per_table + 1))]
    maker = _QuestionMaker(tables_of_corpus, seed, difficulty, writer, languages)
    observer.stage("ask", total=number)
    kept: list[Query] = []
    for visit in range(writer.visits):
        rest, before = ids, len(kept)
        while rest and len(kept) < number:
            size = max(number - len(kept), _FEWEST_TABLES)
            some, rest = rest[:size], rest[size:]
            new = maker.questions(some, visit)[: number - len(kept)]
            observer.advance(len(new))
            kept += new
        if len(kept) in (number, before):
            break
    queries = (replace(query, id=f"synthetic-{i:04d}") for i, query in enumerate(kept, start=1))
    return SyntheticQuestions(tuple(queries), number, dict(maker.dropped))


PROBES = {"bm25": "bm25", "titles alone": "bm25:fields=[title]", "random": "random"}
"""What ``separation`` ranks with: a good retriever, what file names give away, and chance."""


def separation(dataset: Dataset, queries: Sequence[Query]) -> dict[str, Score]:
    """Return how far questions tell retrievers apart: recall@1 of each of ``PROBES``.

    Args:
        dataset: the tables.
        queries: the questions.
    """
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
        return {name: results[name].scores[f"recall@1{SYNTHETIC}"] for name in PROBES}


class _Silent(Observer):
    """The run that follows warns of the same."""

    def warning(self, message: str) -> None:
        """Say nothing."""


def advice(scores: Mapping[str, Score]) -> str | None:
    """Return what is wrong with questions of which these are the scores; None if nothing is."""
    good, titles, chance = (scores[name] for name in PROBES)
    if chance.value >= _BY_CHANCE:
        share = f"{chance.value:.0%} of the gold tables are found by chance"
        return f"{share}, as there are so few: no retriever can be told from another"
    if good.n < _FEW:
        return f"{good.n} questions tell little: a difference of 20 points can be chance"
    if good.value >= _EASY:
        return (
            "bm25 has nearly all right: they cannot tell apart what is as good. Harder ones: "
            "--difficulty hard, or --generator"
        )
    if titles.value > (good.value + chance.value) / 2:
        return "titles alone do nearly as well: the questions give them away"
    if not good.low > chance.high:
        return "bm25 is not better than chance: they are too few, or fit too many tables"
    return None


_EASY = 0.95
_FEW = 20
_BY_CHANCE = 0.5


class _Writer(NamedTuple):
    """What writes questions.

    Attributes:
        name: what the metadata of a question calls it.
        proposals: (views, visit, dropped) -> questions about each table; ``dropped`` gets reason ->
            how many are not among them for it.
        visits: how often a table is asked about at most.
        per_table: how many questions of a visit are kept.
    """

    name: str
    proposals: Callable[[Sequence[TableView], int, Counter[str]], Iterator[Proposal]]
    visits: int
    per_table: int


def _from_templates(seed: int, languages: Sequence[Language], *, follow_tables: bool) -> _Writer:
    """Return what writes questions from templates."""
    used: Counter[str] = Counter()

    def proposals(
        views: Sequence[TableView], visit: int, dropped: Counter[str]
    ) -> Iterator[Proposal]:
        for view in views:
            rng = _rng(seed, visit, *view.table.id)
            language = (table_language(view.table) if follow_tables else None) or languages[0]
            proposed = templates.proposals(view, rng, _PER_TABLE, language, used)
            if not proposed and not visit:
                dropped[NO_QUESTION] += 1
            yield from proposed

    return _Writer("template", proposals, visits=100, per_table=1)


def _from_model(generator: Any, confirm: Confirm | None, observer: Observer) -> _Writer:
    """Return a generator that writes questions: one request about each table, all in one batch."""
    label = generator if isinstance(generator, str) else type(generator).__name__
    name = masked_settings(label)
    if isinstance(generator, str):
        generator = registry.create("generator", generator)
    generator = check_generator(generator)

    def proposals(views: Sequence[TableView], _: int, dropped: Counter[str]) -> Iterator[Proposal]:
        by_id = {str(view.table.id): view for view in views if view.rows and view.whole}
        requests = list(map(from_model.request, by_id.values()))
        ask_if_paid(generator, confirm, lambda: of_generator(generator, name, requests))
        with plugin_errors(f"generator {name}", "generate"):
            replies = recorded_answers(
                generator, requests, "questions", from_model.is_reply, observer
            )
            answered = {reply.query_id: reply for reply in replies}
        for table, view in by_id.items():
            missing = Generation(table, "", error="missing: no answer")
            yield from from_model.proposals(view, answered.get(table, missing), dropped)

    return _Writer(name, proposals, visits=1, per_table=from_model.QUESTIONS)


class _QuestionMaker:
    """Makes the questions about some tables at a time, and remembers what was asked before."""

    def __init__(
        self,
        corpus: Corpus,
        seed: int,
        difficulty: DifficultyOrMixed,
        writer: _Writer,
        languages: Sequence[Language],
    ) -> None:
        self._corpus, self._seed, self._difficulty = corpus, seed, difficulty
        self._writer, self._rarity = writer, Rarity(corpus, languages)
        self.dropped: Counter[str] = Counter()
        self._asked: dict[TableId, list[str]] = defaultdict(list)
        self._shapes: dict[TableId, Counter[object]] = defaultdict(Counter)

    def questions(self, tables: Sequence[TableId], visit: int) -> list[Query]:
        """Return questions about each table that has some."""
        views = [TableView(self._corpus[table]) for table in tables]
        every = list(self._writer.proposals(views, visit, self.dropped))
        answers_of = answers([(p.ask, p.evidence) for p in every], self._corpus, self._rarity)
        by_id = {view.table.id: view for view in views}
        unambiguous: dict[TableId, list[Query]] = defaultdict(list)
        for proposal, answered_by in zip(every, answers_of, strict=True):
            reason = _reason_against(proposal, answered_by)
            if reason is not None:
                self.dropped[reason] += 1
            else:
                view = by_id[proposal.table]
                unambiguous[proposal.table].append(self._query(proposal, answered_by, view))
        most = self._writer.per_table
        chosen = [
            list(islice(self._chosen(table, questions), most))
            for table, questions in unambiguous.items()
        ]
        in_turns = chain.from_iterable(zip_longest(*chosen))
        return [query for query in in_turns if query is not None]

    def _chosen(self, table: TableId, questions: Sequence[Query]) -> Iterator[Query]:
        """Yield questions of the wanted difficulty that repeat none about the table."""
        difficulty: str = self._difficulty
        if difficulty == MIXED:
            rng = _rng(self._seed, "difficulty", *table)
            difficulty = rng.choices(list(_SHARES), list(_SHARES.values()))[0]
        shapes = self._shapes[table]

        def is_late(query: Query) -> tuple[bool, int]:
            return query.metadata["difficulty"] != difficulty, shapes[_shape(query)]

        for query in sorted(questions, key=is_late):
            if query.metadata["difficulty"] != difficulty and self._difficulty != MIXED:
                self.dropped[OTHER_DIFFICULTY] += 1
            elif is_repeated(query.text, self._asked[table]):
                self.dropped[REPEATED] += 1
            else:
                for gold in query.gold:
                    self._asked[gold].append(query.text)
                shapes[_shape(query)] += 1
                yield query

    def _query(self, proposal: Proposal, solved: Answers, view: TableView) -> Query:
        rare = len(self._rarity.rare_words(proposal.text, view))
        answer = proposal.solution.answer
        return Query(
            id="",
            text=proposal.text,
            gold=tuple(solved[0]),
            answer=answer[0] if len(answer) == 1 else answer,
            database_id=proposal.table.database_id,
            metadata={
                "synthetic": self._writer.name,
                "template": proposal.ask.kind if self._writer.name == "template" else "none",
                "difficulty": difficulty_of(rare),
                "rare_words": rare,
                "cells": [_cell(view, row, column) for row, column in proposal.solution.cells],
            },
        )


def _reason_against(proposal: Proposal, solved: Answers) -> str | None:
    """Return why a question is dropped; None where its gold tables alone answer it."""
    same, others = solved
    if proposal.table not in same:  # marks in a text of several scripts change its words
        return UNANSWERED
    if others:
        return AMBIGUOUS
    several = len({table.database_id for table in same}) > 1
    return SEVERAL_DATABASES if several else None


def _shape(query: Query) -> object:
    """Return what questions of one kind about the same columns share."""
    cells = query.metadata["cells"]
    return query.metadata["template"], frozenset(cell["column"] for cell in cells)


def _rng(*parts: object) -> Random:
    return Random(_hash(*parts))  # noqa: S311 (no secret)


def _hash(*parts: object) -> str:
    """Return a text that decides order and chance: the same for the same parts, everywhere."""
    return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _cell(view: TableView, row: int, column: int) -> dict[str, Any]:
    """Return a cell as it is stored: its row from 1, its column, and what it holds."""
    return {
        "row": row + 1,
        "column": str(view.table.header[column]),
        "value": view.rows[row][column],
    }
