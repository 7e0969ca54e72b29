"""What ``target-bench describe`` prints."""

import inspect
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from target_bench import corpora, registry
from target_bench.schema import Table
from target_bench.serialization import cell_text
from target_bench.stages.retrieve import MODES

_SAMPLE_ROWS = 5


def print_corpus(name: str, split: str | None, data_dir: Path | None) -> None:
    """Sizes as in the TARGET paper's Table 3, licence, citation and the first query's table."""
    dataset = corpora.load(name, split, data_dir)
    console = Console(emoji=False)
    info, corpus = dataset.info, dataset.corpus
    n = len(corpus)
    rows = sum(len(table.rows) for table in corpus) / n if n else 0
    columns = sum(len(table.header) for table in corpus) / n if n else 0
    copies = n - len(set(corpus.groups))
    facts = {
        "corpus": f"{info.title} ({info.name}), split {dataset.split}",
        "tasks": ", ".join(info.tasks),
        "tables": f"{n:,}",
        "queries": f"{len(dataset.queries):,}",
        "avg rows": f"{rows:.6f}",
        "avg columns": f"{columns:.6f}",
        "copies": f"{copies:,} tables repeat the header and rows of another",
        "licence": info.licence,
        "citation": info.citation,
        "source": info.source,
        "fingerprint": corpus.fingerprint,
    }
    facts |= {f"note {i}": note for i, note in enumerate(dataset.notes, start=1)}
    grid = Grid(box=None, show_header=False, pad_edge=False)
    for fact, value in facts.items():
        grid.add_row(fact, escape(value))
    console.print(grid)
    if dataset.queries:
        query = dataset.queries[0]
        console.print(f"\nFirst query {query.id}: {query.text}", markup=False, highlight=False)
        console.print(f"Answer: {query.answer}", markup=False, highlight=False)
        console.print(_sample(corpus[query.gold[0]]))


def print_retriever(name: str) -> None:
    """The documentation of a retriever and the defaults of its settings."""
    console = Console(emoji=False)
    if name in MODES:
        console.print(MODES[name].description)
        return
    cls = registry.resolve("retriever", registry.parse("retriever", name).target, also=MODES)
    console.print(inspect.getdoc(cls) or "", markup=False, highlight=False)
    console.print("\nDefaults:", markup=False)
    for parameter in inspect.signature(cls).parameters.values():
        console.print(f"  {parameter.name}={parameter.default!r}", markup=False, highlight=False)


def _sample(table: Table) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD, title=escape(_title(table)), title_justify="left")
    for column in table.header:
        grid.add_column(escape(column))
    for row in table.rows[:_SAMPLE_ROWS]:
        grid.add_row(*(escape(cell_text(cell)) for cell in row))
    if len(table.rows) > _SAMPLE_ROWS:
        grid.caption = f"{len(table.rows) - _SAMPLE_ROWS} more rows"
    return grid


def _title(table: Table) -> str:
    parts = [table.context.get("title"), table.context.get("section_title")]
    return " / ".join([f"Gold table {table.id}", *(part for part in parts if part)])
