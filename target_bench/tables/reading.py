"""Answers read as tables, in any format: always tables or a typed fault."""

from functools import lru_cache
from unicodedata import normalize

from target_bench.core.reasoning import without_reasoning
from target_bench.tables.answer_tables import (
    LONGEST,
    ReadAnswer,
    TableFormat,
    UnreadableTableError,
    make_unreadable,
)
from target_bench.tables.read_html import read_html_tables
from target_bench.tables.read_json import read_json_tables
from target_bench.tables.read_latex import read_latex_tables
from target_bench.tables.read_text import read_csv_tables, read_pipe_tables

_READERS = {
    "text": read_pipe_tables,
    "html": read_html_tables,
    "latex": read_latex_tables,
    "csv": read_csv_tables,
    "json": read_json_tables,
}


def read_tables(text: str, table_format: TableFormat) -> ReadAnswer:
    """Read the tables of an answer.

    All that can be read is read (lenient), and every fault is named; a strict reader is one that
    takes no answer with a fault (``ReadAnswer.strict_error``). Takes time linear in the text, of
    which it reads at most ``LONGEST`` characters.

    Args:
        text: the answer; blocks of reasoning are left out.
        table_format: how it should be written.
    """
    text = text.encode("utf-8", "replace").decode()  # a lone surrogate is not UTF-8
    answer = normalize("NFC", without_reasoning(text)).removeprefix("\ufeff")
    if not answer.strip():
        return make_unreadable("empty")
    if len(answer) > LONGEST:
        return make_unreadable("too_long")
    return _read(answer, table_format)


@lru_cache(maxsize=4096)
def _read(text: str, table_format: TableFormat) -> ReadAnswer:
    try:
        return _READERS[table_format](text)
    except UnreadableTableError as error:
        return make_unreadable(error.fault)
