"""What ``target-bench describe`` prints."""

import inspect
from pathlib import Path
from textwrap import wrap
from typing import Any

from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.core.metric import Metric
from target_bench.core.metric_spec import MetricSpec
from target_bench.core.schema import Table
from target_bench.core.serialization import cell_text
from target_bench.core.text_tables import Column, TextTable, print_tables, say, terminal_width
from target_bench.data import splits
from target_bench.evaluation.stages.retrieve import MODES
from target_bench.metrics.named import named, parse

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


def print_metric(name: str) -> None:
    """Print the declaration of a metric, the tasks that use it, and its signature."""
    spec, k = parse(name, needs_cutoff=False)
    tasks = [task for task in registry.names("task") if _scores(task) == spec.of]
    made = _made(name, spec, k)
    facts = {
        "metric": spec.at(k) if k else f"{spec.name}@k" if spec.at_k else spec.name,
        "label": spec.label_at(k or "k"),
        "definition": spec.description,
        "source": spec.source,
        "of": spec.of,
        "tasks": ", ".join(tasks),
        "range": spec.range,
        "better": "higher" if spec.higher_is_better else "lower",
        "decimals": str(spec.digits),
        "needs": ", ".join(spec.needs) or "nothing but predictions and gold",
        "deterministic": "yes" if spec.deterministic else "no: its value differs between runs",
        "tolerance of verify": f"{spec.tolerance:g}",
        "rank": "none: it stands for a run only where there is no other"
        if spec.rank is None
        else f"{spec.rank}; the metric of the lowest rank stands for a run",
        "signature": "" if made is None else made.signature.replace("|", " | "),
    }
    for fact, value in facts.items():
        if value:
            _say_wrapped(f"{fact}: {value}")


def _made(name: str, spec: MetricSpec, k: int | None) -> Metric[Any] | None:
    """The metric with default settings; None where it needs a setting or a cutoff."""
    if ":" not in name:
        return named(spec.at(k)) if spec.at_k == (k is not None) else None
    try:
        made: Metric[Any] = registry.create("metric", name)
    except ConfigError:
        return None
    return made


def _scores(task: str) -> str:
    return str(registry.resolve("task", task).scores)


def _say_wrapped(text: str) -> None:
    """Print a fact, continued on the next lines where the terminal is narrow."""
    width = terminal_width()
    for line in [text] if width is None else wrap(text, width, subsequent_indent="  "):
        say(line)


def _sample(table: Table) -> TextTable:
    rows = [[cell_text(cell) for cell in row] for row in table.rows[:_SAMPLE_ROWS]]
    return TextTable([Column(name, prose=True) for name in table.header], rows, _title(table))


def _title(table: Table) -> str:
    parts = [table.context.get("title"), table.context.get("section_title")]
    return " / ".join([f"Gold table {table.id}", *(part for part in parts if part)])
