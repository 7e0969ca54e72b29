"""What ``target-bench describe`` prints."""

import inspect
from pathlib import Path

from target_bench.core import registry
from target_bench.core.schema import Table
from target_bench.core.serialization import cell_text
from target_bench.core.text_tables import Column, TextTable, print_tables, say
from target_bench.data import splits
from target_bench.evaluation.stages.retrieve import MODES

_SAMPLE_ROWS = 5


def print_corpus(name: str, split: str | None, data_dir: Path | None) -> None:
    """Sizes as in the TARGET paper's Table 3, licence, citation and the first query's table."""
    dataset = splits.load(name, split, data_dir)
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
    for fact, value in facts.items():
        say(f"{fact}: {value}")
    if dataset.queries:
        query = dataset.queries[0]
        say(f"\nFirst query {query.id}: {query.text}")
        say(f"Answer: {query.answer}\n")
        table = corpus[query.gold[0]]
        print_tables(_sample(table))
        if len(table.rows) > _SAMPLE_ROWS:
            say(f"{len(table.rows) - _SAMPLE_ROWS} more rows")


def print_retriever(name: str) -> None:
    """The documentation of a retriever and the defaults of its settings."""
    if name in MODES:
        say(MODES[name].description)
        return
    cls = registry.resolve("retriever", registry.parse("retriever", name).target, also=MODES)
    say(inspect.getdoc(cls) or "")
    say("\nDefaults:")
    for parameter in inspect.signature(cls).parameters.values():
        say(f"  {parameter.name}={parameter.default!r}")


def _sample(table: Table) -> TextTable:
    rows = [[cell_text(cell) for cell in row] for row in table.rows[:_SAMPLE_ROWS]]
    return TextTable([Column(name, prose=True) for name in table.header], rows, _title(table))


def _title(table: Table) -> str:
    parts = [table.context.get("title"), table.context.get("section_title")]
    return " / ".join([f"Gold table {table.id}", *(part for part in parts if part)])
