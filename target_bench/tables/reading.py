"""Answers read as tables, in any format: always tables or a typed fault."""

from functools import lru_cache
from unicodedata import normalize

from target_bench.core.reasoning import without_reasoning
from target_bench.tables.answer_tables import (
    LONGEST,
    ReadAnswer,
    TableFormat,
    UnreadableTableError,
    failed,
)
from target_bench.tables.markup import HTML_PARSER, read_html_tables, read_latex_tables
from target_bench.tables.plain_formats import read_csv_tables, read_json_tables, read_pipe_tables

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
    text = text.encode("utf-8", "replace").decode()  # a lone surrogate is not UTF-8
    answer = normalize("NFC", without_reasoning(text)).removeprefix("\ufeff")
    if not answer.strip():
        return failed("empty")
    if len(answer) > LONGEST:
        return failed("too_long")
    return _read(answer, table_format, parser)


@lru_cache(maxsize=4096)
def _read(text: str, table_format: TableFormat, parser: str) -> ReadAnswer:
    try:
        if table_format == "html":
            return read_html_tables(text, parser)
        return _READERS[table_format](text)
    except UnreadableTableError as error:
        return failed(error.fault)
