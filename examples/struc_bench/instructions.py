r"""Write instruction, input and output to tune a model on, as Struc-Bench does (FormatCoT).

    python -m examples.struc_bench.instructions rotowire --split train -o data/rotowire
    python -m examples.struc_bench.instructions rotowire -o data/rotowire --generator openai:model=M

    python -m examples.struc_bench.instructions html.json -o data/html --generator openai:model=M

writes ``table_train.json``, ``html_train.json``, ...: lists of ``instruction``, ``input`` and
``output``, the form of Struc-Bench's files (Tang et al. 2024, arXiv:2309.08963), which the corpus
``struc-bench`` reads, too. An instruction says how the target tables look, not what is in their
cells. With a generator it is FormatCoT: a model describes the format of the target tables, by
prompts that ask what the paper's appendix E asks, or by ``--prompt FILE``, so that prompts can be
compared; an instruction that quotes cells is not used. Without one, or where it is of no use,
rules write the instruction from format, names and columns.

Tables without a text, such as those of HTML pages, are given as a JSON list of objects with
``output`` (the table as it is written) and ``format`` (``html``, ``latex``). Their ``input`` is
what the cells say: the text without tags, or for LaTeX with a generator its description of all
cells. ``examples/struc_bench/without_format_cot.txt`` is the paper's ablation, a prompt of one
sentence.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from target_bench import ConfigError, DataError, GenerationRequest, Message, load
from target_bench.core import registry
from target_bench.core.reasoning import without_reasoning
from target_bench.data.selection import select_queries
from target_bench.tables.answer_tables import FORMATS, TableFormat
from target_bench.tables.reading import read_tables

TASK = "text_to_table"

# They ask what appendix E of the paper asks, in other words; --prompt FILE takes the paper's.
_DESCRIBE = (
    "Describe in detail how the tables of the text below are laid out. Say first how many tables "
    "there are. Then give for each table its format: how many columns and rows it has, the names "
    "of its columns and the names of its rows. Do not give the contents of cells.\n\n{output}"
)
PROMPTS: dict[TableFormat, str] = {
    "text": _DESCRIBE,
    "csv": _DESCRIBE,
    "json": _DESCRIBE,
    "html": (
        "Describe the format of the HTML code below in detail, tag by tag. Go through every HTML "
        "tag that it has and leave none out. Write more than 300 words. Give exact numbers, and "
        'do not write "several" or "some".\n\n{output}'
    ),
    "latex": (
        "Describe the format of a LaTeX table in detail, by its commands and environments, in "
        "more than 500 words.\n\n"
        "A small example. Of\n"
        "\\begin{tabular}{|l|r|} \\hline \\textbf{Name} & \\textbf{Age} \\\\ \\hline "
        "\\end{tabular}\n"
        "one would say: the table has two columns; the first is aligned left, the second right; "
        "vertical lines stand at both sides of each column, horizontal lines above and below the "
        "first row, and the two headers are bold.\n\n"
        "Answer these questions: Does the table have border lines? How is text aligned? Which "
        "attributes does the table have? Is anything bold? Is there a \\ref? Which rows and which "
        "columns have horizontal or vertical lines beside them? Say where the special token "
        '"\\" stands, if it does. Write no LaTeX code but natural language, with all that one '
        "needs to make the table again from your description.\n\n{output}"
    ),
}
CONTENT = (
    "Describe the content of this LaTeX table in as much detail as you can: every cell, with its "
    "row and its column.\n\n{output}"
)
"""The prompt for the content of a LaTeX table without a text; that of HTML is its text."""
SHORTEST_CELL = 4
"""Characters that a cell has at least before an instruction is said to quote it."""

_KINDS: dict[TableFormat, tuple[str, str]] = {
    "text": ("Markdown", "with | between cells, a table's name and a colon on the line before it"),
    "html": ("HTML", "with <table>, <tr>, <th> for headers and <td>, a table's name as <caption>"),
    "latex": ("LaTeX", "as tabular environments, with & between cells and \\\\ after rows"),
    "csv": ("CSV", "with one row per line, a table's name and a colon on the line before it"),
    "json": ("JSON", 'as {"tables": [{"name": ..., "header": [...], "rows": [[...], ...]}, ...]}'),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Describe the tables of a split, and write the files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("corpus", help="a corpus that is answered with tables, a path, or .json")
    parser.add_argument("--split", default="train")
    parser.add_argument("--generator", help="writes the instructions; it may cost money")
    parser.add_argument("--prompt", type=Path, help="a text with {output} in place of the prompts")
    parser.add_argument("--limit", type=int)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    outputs = list(_outputs(options.corpus, options.split))[: options.limit]
    if not outputs:
        raise ConfigError(f"{options.corpus} {options.split}: no query is answered with tables")
    generator = registry.create("generator", options.generator) if options.generator else None
    files: dict[str, list[dict[str, str]]] = {}
    counts: Counter[str] = Counter()
    for place, table_format, text, output in outputs:
        if read_tables(output, table_format).error is not None:
            raise DataError(f"{place}: its reference holds no table as {table_format}")
        instruction, written_by = by_rules(output, table_format), "rules"
        if generator is not None:
            prompt = options.prompt.read_text() if options.prompt else PROMPTS[table_format]
            described = _ask(generator, place, prompt, output)
            written_by = "rules: the generator said nothing"
            if described and quoted_cells(described, output, table_format):
                written_by = "rules: the generator quoted cells"
            elif described:
                instruction, written_by = described, "generator"
        counts[written_by] += 1
        if not text:
            is_latex = generator is not None and table_format == "latex"
            text = _ask(generator, place, CONTENT, output) if is_latex else ""
            text = text or write_content(output, table_format)
        name = {"text": "table"}.get(table_format, str(table_format))
        record = {"instruction": instruction, "input": text, "output": output}
        files.setdefault(f"{name}_{options.split}.json", []).append(record)
    options.output.mkdir(parents=True, exist_ok=True)
    for name, records in files.items():
        text = json.dumps(records, ensure_ascii=False, indent=1) + "\n"
        (options.output / name).write_text(text, encoding="utf-8")
        print(f"{options.output / name}: {len(records):,} records")
    print("; ".join(f"{n:,} instructions by {name}" for name, n in counts.items()))


def _outputs(corpus: str, split: str) -> Iterator[tuple[str, TableFormat, str, str]]:
    """Yield place, format, text and tables of every text, or of every table without a text."""
    if not corpus.endswith(".json"):
        for query in select_queries(load(corpus, split), TASK).queries:
            if any(query.references):
                table_format: TableFormat = query.metadata.get("format", "text")
                yield f"query {query.id!r}", table_format, query.text, query.references[0]
        return
    try:
        records = json.loads(Path(corpus).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise DataError(f"{corpus}: cannot be read as JSON: {error}") from error
    for number, record in enumerate(records if isinstance(records, list) else [None]):
        place = f"{corpus}, record {number}"
        if not isinstance(record, dict) or not isinstance(record.get("output"), str):
            raise DataError(f"{place}: expected an object with the text 'output'")
        if record.get("format", "text") not in FORMATS:
            raise DataError(f"{place}: format {record['format']!r} is none of {', '.join(FORMATS)}")
        yield place, record.get("format", "text"), "", record["output"]


def _ask(generator: Any, place: str, prompt: str, output: str) -> str:
    """Return the reply of a generator about a table, in one line and without its reasoning."""
    message = Message("user", prompt.replace("{output}", output))
    reply = generator.generate(GenerationRequest(place, "format_cot", (message,), ""))
    return " ".join(without_reasoning(reply if isinstance(reply, str) else reply.text).split())


def write_content(output: str, table_format: TableFormat) -> str:
    """Write the cells of tables, a line a row, without any tag or command."""
    tables = read_tables(output, table_format).tables
    rows = [" ".join(filter(None, row)) for table in tables for row in ([table.name], *table.rows)]
    return "\n".join(filter(None, rows))


def by_rules(output: str, table_format: TableFormat) -> str:
    """Write an instruction from format, names and columns; it holds no cell of a row."""
    tables = read_tables(output, table_format).tables
    kind, how = _KINDS[table_format]
    parts = []
    for number, table in enumerate(tables, start=1):
        header = [cell.strip() for cell in table.rows[0]] if table.rows else []
        rank = "The table" if len(tables) == 1 else f"Table {number}"
        named = f" is named {table.name!r} and" if table.name else ""
        columns = ", ".join(map(repr, header))
        parts.append(f"{rank}{named} has {len(header)} columns, in this order: {columns}.")
    count = "one table" if len(tables) == 1 else f"{len(tables)} tables"
    breaks = ", and <NEWLINE> in place of line breaks" if "<NEWLINE>" in output else ""
    written = f"Write {count} in {kind}, {how}{breaks}."
    return " ".join([written, *parts, "Leave a cell empty where the text says nothing."])


def quoted_cells(instruction: str, output: str, table_format: TableFormat) -> list[str]:
    """Return the cells that an instruction quotes, names of tables and columns apart.

    Cells count from ``SHORTEST_CELL`` characters on, as whole words, regardless of case.
    """
    tables = read_tables(output, table_format).tables
    named = {name.casefold().strip() for t in tables for name in (t.name, *t.rows[0])}
    cells = {cell.casefold().strip() for t in tables for row in t.rows[1:] for cell in row}
    words = instruction.casefold()
    return sorted(
        cell
        for cell in cells - named
        if len(cell) >= SHORTEST_CELL and re.search(rf"(?<!\w){re.escape(cell)}(?!\w)", words)
    )


if __name__ == "__main__":
    main()
