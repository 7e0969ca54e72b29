"""Questions that a generator writes, kept where the table holds their answer."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, permutations
from math import ceil
from statistics import fmean
from typing import Any

from target_bench.core import registry
from target_bench.core.contract import ask_if_paid, check_generator
from target_bench.core.credentials import mask_settings
from target_bench.core.observer import Observer
from target_bench.core.plugin_errors import plugin_errors
from target_bench.core.reasoning import without_reasoning
from target_bench.core.schema import Corpus, Generation, GenerationRequest, Message, TableId
from target_bench.harness.consent import Confirm, estimate_generator
from target_bench.harness.questions.table_view import (
    TOO_LONG,
    Draft,
    TableView,
    clean_column_name,
    normalize,
    split_words,
)
from target_bench.models.generator_calls import ask_recorded
from target_bench.models.judges import last_object

EMPTY = "tables without rows"
FAILED = "requests to the generator that failed"
NO_JSON = "replies without JSON of questions"
INCOMPLETE = "questions without text, answer or cells"
NO_SUCH_CELL = "questions about a cell that the table does not hold"
UNSUPPORTED = "questions with an answer that does not follow from its cells"
NAMELESS = "questions that name nothing that the table holds"

_QUESTIONS_PER_TABLE = 3
_KEPT_PER_TABLE = 2  # expected: about a third is dropped
_SHOWN_ROWS = 40

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


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    required = list(properties)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_TEXT = {"type": "string"}
_CELL = _object(row={"type": "integer"}, column=_TEXT, value=_TEXT)
_QUESTION = _object(question=_TEXT, answer=_list(_TEXT), cells=_list(_CELL))
_REPLY_SCHEMA = _object(questions=_list(_QUESTION))


class ModelWriter:
    """Has a generator write questions: one request a table, all in one batch.

    Attributes:
        name: what the metadata of the questions call it.
        dropped: reason -> number of tables, requests, replies or questions that were left out.
    """

    def __init__(
        self,
        corpus: Corpus,
        n_questions: int,
        generator: Any,
        confirm: Confirm | None,
        observer: Observer,
    ) -> None:
        label = generator if isinstance(generator, str) else type(generator).__name__
        self.name = mask_settings(label)
        if isinstance(generator, str):
            generator = registry.create("generator", generator)
        self._generator = check_generator(generator)
        self._corpus, self._confirm, self._observer = corpus, confirm, observer
        self._n_tables = ceil(n_questions / _KEPT_PER_TABLE)
        self.dropped: Counter[str] = Counter()

    def write(self, tables: Sequence[TableId]) -> Iterator[Draft]:
        """Ask about the first tables that can be shown, and yield the questions they answer."""
        views = list(islice(self._select_tables(tables), self._n_tables))
        replies = self._ask([_make_request(view) for view in views])
        for view in views:
            for record in self._read_records(replies[_name_request(view.table.id)]):
                try:
                    yield _check_question(view, record)
                except _DroppedError as error:
                    self.dropped[str(error)] += 1

    def _select_tables(self, tables: Sequence[TableId]) -> Iterator[TableView]:
        """Yield the tables that are neither long nor empty, and count the others."""
        for table in tables:
            view = TableView(self._corpus[table])
            if view.is_long:
                self.dropped[TOO_LONG] += 1
            elif not view.table.rows:
                self.dropped[EMPTY] += 1
            else:
                yield view

    def _ask(self, requests: Sequence[GenerationRequest]) -> dict[str, Generation]:
        """Return query id -> reply, one for each request."""
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
                lambda reply: _find_records(reply.text) is not None,
                self._observer,
            )
            return {reply.query_id: reply for reply in replies}

    def _read_records(self, reply: Generation) -> list[Any]:
        """Return the records of a reply; of one without any the reason is counted."""
        if reply.error is not None:
            self.dropped[f"{FAILED}: {reply.error.partition(':')[0]}"] += 1
            return []
        records = _find_records(reply.text)
        if records is None:
            self.dropped[NO_JSON] += 1
        return records or []


class _DroppedError(Exception):
    """The reason why a question is dropped."""


def _name_request(table: TableId) -> str:
    """Return the query id of the request about a table; ``a/b/c`` could be of two."""
    return json.dumps([*table])


def _make_request(view: TableView) -> GenerationRequest:
    """Return the request for questions about a table."""
    header = ["row", *view.table.header]
    rows = [[str(i), *row] for i, row in enumerate(view.rows[:_SHOWN_ROWS], start=1)]
    lines = [" | ".join(" ".join(cell.split()) for cell in row) for row in [header, *rows]]
    prompt = _PROMPT.format(
        n=_QUESTIONS_PER_TABLE, titles="\n".join(view.titles), table="\n".join(lines)
    )
    messages = (Message("user", prompt),)
    return GenerationRequest(
        _name_request(view.table.id), "ask", messages, prompt, answer_schema=_REPLY_SCHEMA
    )


def _find_records(reply: str) -> list[Any] | None:
    """Return the list ``questions`` of a reply, with prose before it or not; None without one."""
    text = without_reasoning(reply)
    starts = [match.start() for match in re.finditer(r'\{\s*"questions"', text)]
    content = last_object(text[starts[-1] :] if starts else text) or {}
    questions = content.get("questions")
    return questions if isinstance(questions, list) else None


def _check_question(view: TableView, record: Any) -> Draft:
    """Return the question of a record, which the table has to answer.

    Raises:
        _DroppedError: it does not.
    """
    try:
        text = " ".join(record["question"].split())
        values = record["answer"]
        answer = tuple(map(str, values if isinstance(values, list) else [values]))
        listed = [
            (int(cell["row"]) - 1, str(cell["column"]), str(cell["value"]))
            for cell in record["cells"]
        ]
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
        raise _DroppedError(INCOMPLETE) from None
    if not (text and answer and listed and all(map(normalize, answer))):
        raise _DroppedError(INCOMPLETE)
    cells = {}
    for row, name, value in listed:
        column = view.columns.get(normalize(clean_column_name(name)))
        if column is None or not 0 <= row < len(view.rows):
            raise _DroppedError(NO_SUCH_CELL)
        if normalize(view.rows[row][column]) != normalize(value):
            raise _DroppedError(NO_SUCH_CELL)
        cells[row, column] = view.rows[row][column]
    if not _follows(answer, list(cells.values())):
        raise _DroppedError(UNSUPPORTED)
    keys = _find_keys(text, answer, cells)
    long_title_words = {word for word in view.title_words if len(word) > 2}
    title_words = frozenset(long_title_words.intersection(split_words(text)))
    if not keys and not title_words:
        raise _DroppedError(NAMELESS)
    # An answer that is no cell itself, such as a sum, is looked up by all cells of the question.
    answers = set(map(normalize, answer))
    looked_up = {at: cell for at, cell in cells.items() if normalize(cell) in answers} or cells
    return Draft(
        view.table.id,
        text,
        answer,
        tuple(cells),
        title_words,
        keys,
        columns=frozenset(normalize(view.names[column]) for _, column in looked_up),
        values=frozenset(map(normalize, looked_up.values())),
    )


def _find_keys(
    question: str, answer: Sequence[str], cells: Mapping[tuple[int, int], str]
) -> frozenset[str]:
    """Return the cells that a question names, of the row with the most of them."""
    padded_question = f" {' '.join(split_words(question))} "
    answers = set(map(normalize, answer))
    keys: dict[int, set[str]] = defaultdict(set)
    for (row, _), cell in cells.items():
        words = " ".join(split_words(cell))
        normalized = normalize(cell)  # nothing is left of "(retired)"
        is_named = words and f" {words} " in padded_question
        if is_named and normalized and normalized not in answers:
            keys[row].add(normalized)
    return frozenset(max(keys.values(), key=len, default=()))


def _follows(answer: Sequence[str], cells: Sequence[str]) -> bool:
    """Return whether an answer is cells, or a number that follows from those of cells."""
    if set(map(normalize, answer)) <= set(map(normalize, cells)):
        return True
    number = _read_number(answer[0]) if len(answer) == 1 else None
    if number is None:
        return False
    results = {float(len(cells))}
    if numbers := [value for value in map(_read_number, cells) if value is not None]:
        mean = fmean(numbers)
        results |= {sum(numbers), mean, round(mean, 1), round(mean, 2), min(numbers), max(numbers)}
        results |= {a - b for a, b in permutations(numbers, 2)}
    return any(abs(number - result) <= 1e-9 * max(1, abs(number)) for result in results)


def _read_number(text: str) -> float | None:
    """Return the number of a cell such as ``1,234.5`` or ``$ 5``; None of any other text."""
    digits = re.fullmatch(r"[$€£]?\s?([-−]?\d{1,3}(?:,\d{3})+|[-−]?\d+)(\.\d+)?\s?%?", text.strip())
    if digits is None:
        return None
    return float((digits[1] + (digits[2] or "")).replace(",", "").replace("−", "-"))
