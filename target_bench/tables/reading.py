"""Answers read as tables, in any format: always tables or a typed fault."""

from functools import lru_cache

from target_bench.core.reasoning import without_reasoning
from target_bench.tables.answer_tables import (
    LONGEST,
    Fault,
    ReadAnswer,
    TableFormat,
    failed,
    name_key,
    read_answer,
)
from target_bench.tables.csv_tables import read_csv_tables
from target_bench.tables.html_tables import read_html_tables
from target_bench.tables.json_tables import read_json_tables
from target_bench.tables.latex_tables import read_latex_tables
from target_bench.tables.official_sides import HTML_PARSER, UnreadableTableError
from target_bench.tables.pipe_tables import read_pipe_tables

_READERS = {
    "text": read_pipe_tables,
    "latex": read_latex_tables,
    "csv": read_csv_tables,
    "json": read_json_tables,
}


def read_tables(text: str, table_format: TableFormat, parser: str = HTML_PARSER) -> ReadAnswer:
    """Read the tables of an answer.

    All that can be read is read (lenient), and every fault is named; a strict reader is one that
    takes no answer with a fault (``ReadAnswer.strict_error``). Takes time linear in the text, of
    which it reads at most ``LONGEST`` characters.

    Args:
        text: the answer; blocks of reasoning are left out.
        table_format: how it should be written.
        parser: what HTML is parsed with: ``html.parser`` or ``lxml``.
    """
    said = without_reasoning(text)
    if not said.strip():
        return failed("empty")
    if len(said) > LONGEST:
        return failed("too_long")
    return _read(said, table_format, parser)


@lru_cache(maxsize=4096)
def _read(text: str, table_format: TableFormat, parser: str) -> ReadAnswer:
    try:
        if table_format == "html":
            return read_html_tables(text, parser)
        return _READERS[table_format](text)
    except UnreadableTableError as error:
        return failed(error.fault)


def against(answer: ReadAnswer, reference: ReadAnswer) -> ReadAnswer:
    """Compare what was read with the reference: tables too few or too many; its faults are excused.

    A reference in HTML may be a list, and one with empty cells may be ragged: an answer of the same
    form is not at fault.
    """
    faults: list[Fault] = [fault for fault in answer.faults if fault not in reference.faults]
    if answer.error is None:
        if len(answer.tables) < len(reference.tables):
            faults.append("missing_table")
        if len(answer.tables) > len(reference.tables):
            faults.append("extra_table")
        return read_answer(answer.tables, faults)
    return ReadAnswer((), (answer.error,))


def matched(answer: ReadAnswer, reference: ReadAnswer) -> list[tuple[int | None, int | None]]:
    """Pair the tables of an answer with those of a reference: by name, then in their order.

    Returns:
        (place in the answer, place in the reference), in the order of the reference, then those of
        the answer that are left; None where a side has no table.
    """
    left = dict(enumerate(name_key(table.name) for table in answer.tables))
    found: dict[int, int | None] = {}
    wanted = [name_key(table.name) for table in reference.tables]
    for place, name in enumerate(wanted):
        same = next((i for i, other in left.items() if name and other == name), None)
        if same is not None:
            found[place] = same
            del left[same]
    for place in range(len(wanted)):
        if place not in found:
            found[place] = next(iter(left), None)
            left.pop(found[place], None)  # type: ignore[arg-type]  # None is not a key
    pairs: list[tuple[int | None, int | None]] = [(found[i], i) for i in range(len(wanted))]
    return [*pairs, *((place, None) for place in left)]
