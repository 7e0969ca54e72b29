"""``target-bench list``, ``describe`` and ``check``: what can be run, and its settings."""

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from enum import StrEnum
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typer

from target_bench.cli.options import AsJson, DataDir, Debug, Split
from target_bench.cli.output import TerminalObserver, print_json
from target_bench.core import registry
from target_bench.core.errors import PluginError

if TYPE_CHECKING:
    from target_bench.core.schema import Table
    from target_bench.core.text_tables import TextTable

LIST_HELP = "List corpora, tasks, retrievers, generators, encoders, indexes or metrics."


class What(StrEnum):
    """What can be listed."""

    corpora = "corpora"
    tasks = "tasks"
    retrievers = "retrievers"
    generators = "generators"
    encoders = "encoders"
    indexes = "indexes"
    metrics = "metrics"


def list_(what: Annotated[What, typer.Argument(show_default=False)], debug: Debug = False) -> None:
    """Print a table of names and one-line descriptions."""
    from target_bench.core.text_tables import Column, TextTable, print_tables

    names, rows = LISTS[what]()
    print_tables(TextTable([Column(name, prose=name != names[0]) for name in names], rows))


Listing = tuple[list[str], list[list[str]]]


def _corpora() -> Listing:
    from target_bench.data import splits

    infos = [splits.loader(name).info for name in registry.names("corpus")]
    rows = [[i.name, i.title, ", ".join(i.splits), ", ".join(i.tasks), i.licence] for i in infos]
    return ["corpus", "title", "splits (default first)", "tasks", "licence"], rows


def _tasks() -> Listing:
    rows = []
    for name in registry.names("task"):
        task = registry.resolve("task", name)
        also = ", ".join([task.title, *getattr(task, "aliases", ())])
        rows.append([name, also, getattr(task, "answer", ""), _summary(task)])
    return ["task", "also called", "an answer is", "what it is"], rows


def _plugins(kind: registry.Kind, modes: Mapping[str, Any] | None = None) -> Listing:
    rows = [[name, _summary(registry.resolve(kind, name))] for name in registry.names(kind)]
    rows += [[name, mode.description] for name, mode in (modes or {}).items()]
    return [kind, "what it is"], rows


def _metrics() -> Listing:
    from target_bench.metrics import bertscore, classification, retrieval, sql, text

    rows = [
        [f"{f.name}@k" if f.at_k else f.name, "retrieval", f.description]
        for f in retrieval.FAMILIES.values()
    ]
    rows += [[f.name, "question_answering", f.description] for f in text.FAMILIES.values()]
    rows.append([bertscore.NAME, "question_answering", bertscore.DEFINITION])
    labels = classification.FAMILIES.values()
    rows += [[f.name, "fact_verification", f.description] for f in labels]
    rows += [[f.name, "text_to_sql", f.description] for f in sql.FAMILIES.values()]
    return ["metric", "task", "definition"], rows


def _summary(plugin: type) -> str:
    return (plugin.__doc__ or "").strip().split("\n")[0]


def _modes(kind: str) -> Mapping[str, Any]:
    """The modes of the evaluation that stand where a plug-in of this kind can."""
    if kind == "retriever":
        from target_bench.evaluation.stages.retrieve import MODES

        return MODES
    if kind == "generator":
        from target_bench.evaluation.stages.generate import ANSWER_MODES

        return ANSWER_MODES
    return {}


LISTS: Mapping[What, Callable[[], Listing]] = {
    What.corpora: _corpora,
    What.tasks: _tasks,
    What.retrievers: lambda: _plugins("retriever", _modes("retriever")),
    What.generators: lambda: _plugins("generator", _modes("generator")),
    What.encoders: lambda: _plugins("encoder"),
    What.indexes: lambda: _plugins("index"),
    What.metrics: _metrics,
}
"""What can be listed -> names of the columns, and the rows."""

DESCRIBE_HELP = """Describe a corpus, task, retriever, generator, encoder or index.

Of a corpus: sizes, licence, citation and sample rows. Of a task: its other names, what an answer
is, its metrics. Of every plug-in: its settings with types and defaults.
"""


Described = Literal["corpus", "task", "retriever", "generator", "encoder", "index"]
"""What can be described."""


def describe(
    kind: Annotated[Described, typer.Argument(show_default=False)],
    name: Annotated[
        str,
        typer.Argument(
            help="A name, module:Class or file.py:Class; of a corpus also a path.",
            show_default=False,
        ),
    ],
    split: Split = None,
    data_dir: DataDir = None,
    debug: Debug = False,
) -> None:
    """Print what a corpus holds, or what can be set of a plug-in."""
    if kind == "corpus":
        _print_corpus(name, split, data_dir)
    else:
        DESCRIPTIONS[kind](name)


_SAMPLE_ROWS = 5


def _print_corpus(name: str, split: str | None, data_dir: Path | None) -> None:
    """Print sizes as in the TARGET paper's Table 3, licence, citation and a gold table."""
    from target_bench.core.text_tables import print_tables, say
    from target_bench.data import splits

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


def _sample(table: "Table") -> "TextTable":
    from target_bench.core.serialization import cell_text
    from target_bench.core.text_tables import Column, TextTable

    rows = [[cell_text(cell) for cell in row] for row in table.rows[:_SAMPLE_ROWS]]
    parts = [table.context.get("title"), table.context.get("section_title")]
    title = " / ".join([f"Gold table {table.id}", *(part for part in parts if part)])
    return TextTable([Column(name, prose=True) for name in table.header], rows, title)


def _print_task(name: str) -> None:
    """Print what a task is about, its metrics and its settings."""
    from target_bench.core.text_tables import say
    from target_bench.data import splits

    task = registry.resolve("task", registry.parse("task", name).target)
    short = task.name
    infos = [splits.loader(corpus).info for corpus in registry.names("corpus")]
    facts = {
        "task": f"{task.title} ({short})",
        "also called": ", ".join(getattr(task, "aliases", ())),
        "input": getattr(task, "input", ""),
        "an answer is": getattr(task, "answer", ""),
        "corpora": ", ".join(info.name for info in infos if short in info.tasks),
        "metrics": ", ".join(row[0] for row in _metrics()[1] if row[1] == short),
    }
    for fact, value in facts.items():
        if value:
            say(f"{fact}: {value}")
    say("")
    _print_settings(task)


def _print_plugin(kind: registry.Kind, name: str) -> None:
    """Print the documentation of a plug-in and its settings."""
    from target_bench.core.text_tables import say

    modes = _modes(kind)
    if name in modes:
        say(modes[name].description)
        return
    _print_settings(registry.resolve(kind, registry.parse(kind, name).target, also=modes))


DESCRIPTIONS: Mapping[Described, Callable[[str], None]] = {
    "task": _print_task,
    "retriever": lambda name: _print_plugin("retriever", name),
    "generator": lambda name: _print_plugin("generator", name),
    "encoder": lambda name: _print_plugin("encoder", name),
    "index": lambda name: _print_plugin("index", name),
}
"""Kind -> what prints a description of the plug-in of a name."""


def _print_settings(plugin: Any) -> None:
    """Print the docstring of a class, and its constructor's arguments as a table."""
    from target_bench.core.text_tables import Column, TextTable, print_tables, say

    said, documented = _read_docstring(plugin)
    say(said)
    rows = list(_settings(plugin, documented))
    if not rows:
        say("\nIt has no settings.")
        return
    say("")
    columns = [Column(name, prose=name == "meaning") for name in _SETTING_COLUMNS]
    print_tables(TextTable(columns, rows, "Settings, written as NAME:setting=value,..."))


_SETTING_COLUMNS = ("setting", "type", "default", "meaning")


def _settings(plugin: Any, documented: Mapping[str, str]) -> Iterator[list[str]]:
    try:
        signature = inspect.signature(plugin, eval_str=True)
    except NameError:  # a type hint that exists for type checkers only
        signature = inspect.signature(plugin)
    for parameter in signature.parameters.values():
        needed = parameter.default is parameter.empty
        default = "needed" if needed else _value_text(parameter.default)
        yield [
            parameter.name,
            _type_text(parameter.annotation),
            default,
            documented.get(parameter.name, ""),
        ]


def _value_text(value: Any) -> str:
    """A default as it is written in settings."""
    if value is None or isinstance(value, bool):
        return str(value).lower().replace("none", "null")
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_value_text, value))}]"
    return str(value)


def _type_text(annotation: Any) -> str:
    """A type hint in words that settings are written in: ``sqlite | duckdb``, ``float``."""
    if annotation is inspect.Parameter.empty or isinstance(annotation, str):
        return "" if annotation is inspect.Parameter.empty else str(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " | ".join(map(_value_text, arguments))
    if origin in (Union, UnionType):
        return " | ".join(map(_type_text, arguments))
    if origin is Annotated:
        return _type_text(arguments[0])
    if annotation is NoneType:
        return "null"
    if origin is not None and arguments:
        name = getattr(origin, "__name__", str(origin))
        inner = ", ".join(_type_text(one) for one in arguments if one is not Ellipsis)
        return f"list of {inner}" if name in ("Sequence", "list", "tuple") else f"{name}[{inner}]"
    return "text" if annotation is str else getattr(annotation, "__name__", str(annotation))


_ARGUMENT = re.compile(r" {4}\*{0,2}(\w+): *(.*)")


def _read_docstring(plugin: Any) -> tuple[str, dict[str, str]]:
    """The docstring without arguments and errors, and argument -> its meaning."""
    kept: list[str] = []
    found: dict[str, str] = {}
    section = name = ""
    for line in (inspect.getdoc(plugin) or "").replace("``", "`").splitlines():
        if line and not line.startswith(" "):
            section = line if line in ("Args:", "Raises:") else ""
        start = _ARGUMENT.fullmatch(line) if section == "Args:" else None
        if start:
            name = start[1]
            found[name] = start[2]
        elif not section:
            kept.append(line)
        elif section == "Args:" and name:
            found[name] = f"{found[name]} {line.strip()}".strip()
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), found


CHECK_HELP = """Check whether a retriever keeps the contract; exit code 3 if it does not.

`target-bench check my_file.py:MyRetriever:size=3` runs the same checks as
target_bench.testing.check_retriever.
"""

_LEFT_OUT = "left out with --skip"


def check(
    retriever: Annotated[
        str,
        typer.Argument(
            help="A name with settings, module:Class or file.py:Class.", show_default=False
        ),
    ],
    skip: Annotated[
        list[str] | None,
        typer.Option(
            "--skip", help="A check to leave out, as NAME or NAME=REASON.", show_default=False
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            "--tolerance",
            help="How far scores may lie apart that should be the same. Default: 1e-4.",
            min=0,
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Run the checks and print the report."""
    from target_bench import testing
    from target_bench.core.redaction import masked_settings

    left_out = (item.partition("=") for item in skip or ())
    reasons = {name: reason or _LEFT_OUT for name, _, reason in left_out}
    with TerminalObserver() as observer, redirect_stdout(sys.stderr):
        checks = testing.retriever_checks(
            retriever,
            skip=reasons,
            tolerance=testing.TOLERANCE if tolerance is None else tolerance,
        )
        report = testing.run(masked_settings(retriever), checks, observer)
    if as_json:
        print_json(report.to_json())
    else:
        typer.echo(str(report))
    if report.failed:
        names = ", ".join(outcome.check for outcome in report.failed)
        raise PluginError(f"{report.plugin} does not keep the contract: {names}")
