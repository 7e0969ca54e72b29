"""FormatCoT: instructions on the format of tables, written from the tables themselves.

Struc-Bench (Tang et al. 2024, arXiv:2309.08963, section 3) has a language model look at a target
table, reason about its format step by step, and write the instruction that the tuned model is
given. The wording of the request is our own. An instruction says how tables look, not what is in
their cells; one that quotes cells is not used. Where no generator is asked, or its instruction is
of no use, rules write one from the names and columns of the tables.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from target_bench.core.reasoning import without_reasoning
from target_bench.core.schema import GenerationRequest, Message
from target_bench.models.generator_calls import ask_generator, check_generator
from target_bench.tables.answer_tables import AnswerTable, TableFormat
from target_bench.tables.reading import read_tables

VERSION = "format-cot:2"
"""The version of the wording below and of the rules."""

SHORTEST_CELL = 4
"""Characters that a cell has at least before an instruction is said to quote it."""

Problem = Literal["failed", "no_instruction", "quotes_cells"]
"""Why a generator's instruction is not used."""

_SYSTEM = "You write instructions that describe the format of tables exactly."
_PROMPT = """\
These tables, written as {kind}, are the answer to a task: they were made from a text, which is \
not shown.

```
{output}
```

Write the instruction with which somebody who has only the text writes tables of this format. \
First reason step by step, a line each:
1. How are the tables written: which marks, tags or commands, separators and alignment?
2. How many tables are there, in which order, and what is each of them called?
3. Which columns has each table, in which order, and what does a row stand for?
4. How are cells written: units, numbers, dates, and cells about which nothing is known?

Do not quote what is in the cells of the rows. End with one line that begins with "Instruction:" \
and holds the whole instruction in a few sentences."""

_KINDS: dict[TableFormat, str] = {
    "text": "Markdown",
    "html": "HTML",
    "latex": "LaTeX",
    "csv": "comma-separated values",
    "json": "JSON",
}
_MARK = re.compile(r"^[\s*#>]*instruction\s*\**\s*:\s*\**", re.IGNORECASE | re.MULTILINE)
_NEWLINE = "<NEWLINE>"
_HOW: dict[TableFormat, str] = {
    "text": "with | between cells, a table's name and a colon on the line before it",
    "html": "with <table>, <tr>, <th> for headers and <td>, a table's name as <caption>",
    "latex": "as tabular environments, with & between cells and \\\\ after rows",
    "csv": "with one row per line, a table's name and a colon on the line before it",
    "json": 'as {"tables": [{"name": ..., "header": [...], "rows": [[...], ...]}, ...]}',
}


@dataclass(frozen=True, slots=True)
class Target:
    """Tables to describe.

    Attributes:
        query_id: of the query that they answer.
        output: the tables as text.
        table_format: how they are written.
    """

    query_id: str
    output: str
    table_format: TableFormat


@dataclass(frozen=True, slots=True)
class Described:
    """An instruction on a format.

    Attributes:
        text: the instruction.
        written_by: the generator or the rules.
        problem: why the generator's is not used; None if it is, or if none was asked.
        reply: all that the generator said.
    """

    text: str
    written_by: Literal["generator", "rules"]
    problem: Problem | None = None
    reply: str = ""


def describe(targets: Sequence[Target], generator: Any = None) -> list[Described]:
    """Write an instruction for each target, in order.

    Args:
        targets: tables that can be read.
        generator: any generator, or None for the rules alone.

    Raises:
        ConfigError: it is not a generator.
        TargetBenchError: what the generator raises on purpose, such as for a wrong key.
        PluginError: the generator breaks its contract as a whole.
    """
    if generator is None:
        return [Described(by_rules(target), "rules") for target in targets]
    asked = [request_of(target) for target in targets]
    found = ask_generator(check_generator(generator), asked)
    return [
        _described(target, found[target.query_id].text, found[target.query_id].error)
        for target in targets
    ]


def request_of(target: Target) -> GenerationRequest:
    """Return the request for the instruction of a target."""
    prompt = _PROMPT.format(kind=_KINDS[target.table_format], output=target.output)
    return GenerationRequest(
        target.query_id, "format_cot", (Message("system", _SYSTEM), Message("user", prompt)), ""
    )


def instruction_in(reply: str) -> str | None:
    """Return the text after the last mark ``Instruction:`` of a reply, on one line, or None."""
    said = without_reasoning(reply)
    marks = list(_MARK.finditer(said))
    text = " ".join(said[marks[-1].end() :].split()) if marks else ""
    return text or None


def quoted_cells(instruction: str, target: Target) -> list[str]:
    """Return the cells that an instruction quotes, names and column headers apart.

    Cells count from ``SHORTEST_CELL`` characters on, as whole words, regardless of case.
    """
    tables = read_tables(target.output, target.table_format).tables
    named = {name.casefold() for table in tables for name in (table.name, *_header(table))}
    cells = {c.strip().casefold() for table in tables for row in table.rows[1:] for c in row}
    said = instruction.casefold()
    return sorted(
        cell
        for cell in cells - named
        if len(cell) >= SHORTEST_CELL
        and cell in said
        and re.search(rf"(?<!\w){re.escape(cell)}(?!\w)", said)
    )


def by_rules(target: Target) -> str:
    """Write an instruction from format, names and columns of the tables.

    The same for all targets that agree in these; it holds no cell of a row.
    """
    tables = read_tables(target.output, target.table_format).tables
    how = f"in {_KINDS[target.table_format]}, {_HOW[target.table_format]}"
    if _NEWLINE in target.output:
        how += f", and {_NEWLINE} in place of line breaks"
    if len(tables) == 1:
        return f"Write one table {how}. {_columns('The table', tables[0])} {_EMPTY}"
    ranks = [f"Table {number}" for number in range(1, len(tables) + 1)]
    each = " ".join(_columns(rank, table) for rank, table in zip(ranks, tables, strict=True))
    return f"Write {len(tables)} tables {how}. {each} {_EMPTY}"


_EMPTY = "Leave a cell empty where the text says nothing."


def _columns(rank: str, table: AnswerTable) -> str:
    named = f" is named {table.name!r} and" if table.name else ""
    header = _header(table)
    shown = ", ".join(repr(name) for name in header)
    count = "1 column" if len(header) == 1 else f"{len(header)} columns"
    return f"{rank}{named} has {count}, in this order: {shown}."


def _header(table: AnswerTable) -> list[str]:
    return [cell.strip() for cell in table.rows[0]] if table.rows else []


def _described(target: Target, reply: str, error: str | None) -> Described:
    text = instruction_in(reply) if error is None else None
    if error is not None:
        problem: Problem = "failed"
    elif text is None:
        problem = "no_instruction"
    elif quoted_cells(text, target):
        problem = "quotes_cells"
    else:
        return Described(text, "generator", None, reply)
    return Described(by_rules(target), "rules", problem, reply)
