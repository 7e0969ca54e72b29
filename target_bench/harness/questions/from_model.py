"""Synthetic questions that a language model writes, held to the cells of their table."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

from target_bench.core.reasoning import without_reasoning
from target_bench.core.schema import Generation, GenerationRequest, Message
from target_bench.data.table_text import stop_words
from target_bench.harness.questions.grounding import (
    Ask,
    Proposal,
    TableAnswer,
    TableView,
    exactly,
    number_in,
    solve,
    spoken_name,
    terms,
    words,
)
from target_bench.models.judges import last_object

QUESTIONS = 3
"""How many questions a model is asked for about a table."""

_ROWS = 40
_TEXT = {"type": "string"}
_CELL = {
    "type": "object",
    "properties": {"row": {"type": "integer"}, "column": _TEXT, "value": _TEXT},
    "required": ["row", "column", "value"],
    "additionalProperties": False,
}
_QUESTION = {
    "type": "object",
    "properties": {
        "question": _TEXT,
        "answer": {"type": "array", "items": _TEXT},
        "cells": {"type": "array", "items": _CELL},
    },
    "required": ["question", "answer", "cells"],
    "additionalProperties": False,
}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"questions": {"type": "array", "items": _QUESTION}},
    "required": ["questions"],
    "additionalProperties": False,
}
"""JSON schema of a reply."""

_ASK = """\
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
INCOMPLETE = "without text, answer or cells"
NO_SUCH_CELL = "of a cell that the table does not hold"
UNSUPPORTED = "with an answer that does not follow from its cells"
NAMELESS = "naming nothing that the table holds"


def request(view: TableView) -> GenerationRequest:
    """Return the request for questions about a table; its first rows are shown."""
    header = ["row", *(" ".join(name.split()) for name in view.table.header)]
    rows = [[str(i), *row] for i, row in enumerate(view.rows[:_ROWS], start=1)]
    lines = [" | ".join(" ".join(cell.split()) for cell in row) for row in [header, *rows]]
    titles = "\n".join(view.titles)
    prompt = _ASK.format(n=QUESTIONS, titles=titles, table="\n".join(lines))
    return GenerationRequest(
        str(view.table.id), "ask", (Message("user", prompt),), prompt, answer_schema=SCHEMA
    )


def is_reply(answer: Generation) -> bool:
    """Return whether an answer holds questions."""
    return _questions(answer.text) is not None


def _questions(reply: str) -> list[Any] | None:
    """Return the records of a reply, with words before its JSON or without; None without any."""
    reply_text = without_reasoning(reply)
    begun = [match.start() for match in _BEGIN.finditer(reply_text)]
    for text in (reply, *(reply_text[start:] for start in begun[-1:])):
        questions = (last_object(text) or {}).get("questions")
        if isinstance(questions, list):
            return questions
    return None


_BEGIN = re.compile(r'\{\s*"questions"')


def proposals(view: TableView, answer: Generation, dropped: Counter[str]) -> list[Proposal]:
    """Return the questions of a reply that their table answers.

    Args:
        view: the table.
        answer: the reply.
        dropped: gets reason -> how many are not returned for it.
    """
    records = _questions(answer.text)
    if answer.error is not None or records is None:
        dropped[NO_JSON if answer.error is None else f"{FAILED}: {_kind(answer.error)}"] += 1
        return []
    accepted = []
    for record in records:
        proposal = _proposal(view, record)
        if isinstance(proposal, str):
            dropped[f"questions {proposal}"] += 1
        else:
            accepted.append(proposal)
    return accepted


def _kind(error: str) -> str:
    return error.partition(":")[0]


def _proposal(view: TableView, record: Any) -> Proposal | str:
    """Return the question, or why it is none."""
    try:
        text = " ".join(record["question"].split())
        answer = tuple(str(value) for value in record["answer"])
        given = [(int(c["row"]) - 1, str(c["column"]), str(c["value"])) for c in record["cells"]]
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
        return INCOMPLETE
    if not (text and answer and given and all(map(words, answer))):
        return INCOMPLETE
    cells = [_place(view, *cell) for cell in given]
    places = tuple(dict.fromkeys(place for place in cells if place is not None))
    if None in cells:
        return NO_SUCH_CELL
    if not _follows(answer, [view.rows[row][column] for row, column in places]):
        return UNSUPPORTED
    ask = _ask(view, text, answer, places)
    evidence = solve(ask, view)
    if not (ask.values or ask.topic) or evidence is None:
        return NAMELESS
    return Proposal(view.table.id, text, ask, evidence.answer, TableAnswer(answer, places))


def _place(view: TableView, row: int, column: str, value: str) -> tuple[int, int] | None:
    """Return a cell's place, if the table has it with this value."""
    place = view.columns.get(spoken_name(column))
    if place is None or not 0 <= row < len(view.rows):
        return None
    return (row, place) if terms(view.rows[row][place]) == terms(value) else None


def _follows(answer: Sequence[str], cells: Sequence[str]) -> bool:
    known = set(map(terms, cells))
    if all(terms(value) in known for value in answer):
        return True
    number = number_in(answer[0]) if len(answer) == 1 else None
    return number is not None and number.value in _derived(cells)


def _derived(cells: Sequence[str]) -> set[Decimal]:
    """Return the numbers that follow from cells: their count, and what their numbers give."""
    count = Decimal(len(cells))
    numbers = [number.value for number in map(number_in, cells) if number is not None]
    if not numbers:
        return {count}
    with exactly():
        total = sum(numbers, start=Decimal(0))
        mean = total / len(numbers)
        results = {count, total, max(numbers), min(numbers), mean, round(mean, 1), round(mean, 2)}
        differences = (a - b for a, b in pairwise(numbers))
        return results.union(
            *((difference, difference.copy_negate()) for difference in differences)
        )


def _ask(
    view: TableView, text: str, answer: Sequence[str], places: Sequence[tuple[int, int]]
) -> Ask:
    """Return the ask of a question, as far as its words show it.

    Its values are cells of one row that it names, its topic the words of the titles that it holds.
    """
    names = {place: name for name, place in view.columns.items()}
    given = set(map(terms, answer))
    answer_columns = [c for row, c in places if terms(view.rows[row][c]) in given]
    columns = tuple(
        dict.fromkeys(names[column] for column in answer_columns or [c for _, c in places])
    )
    question = f" {terms(text)} "
    named: dict[int, list[str]] = {}
    for row, column in places:
        value = view.rows[row][column]
        if words(value) and f" {terms(value)} " in question:
            named.setdefault(row, []).append(value)
    values = max(named.values(), key=len, default=[])
    topic = view.topic_words & set(words(text)) - stop_words("en")
    return Ask("lookup", columns, tuple(values), len(columns), " ".join(sorted(topic)))
