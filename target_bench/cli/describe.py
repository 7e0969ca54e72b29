"""``target-bench describe``: one corpus, task, metric or other plug-in in full."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typer

from target_bench.cli.command_line import AsJson, DataDir, Offline, SkipBad, Split, argument
from target_bench.cli.plugins import bounds_of
from target_bench.core import registry
from target_bench.core.errors import ConfigError

if TYPE_CHECKING:
    from target_bench.core.metric import Metric, MetricSpec
    from target_bench.core.schema import Table
    from target_bench.core.task import Task
    from target_bench.core.text_tables import TextTable

DESCRIBE_HELP = """Describe a corpus, task, metric, retriever, generator, encoder or index.

Of a corpus: sizes, licence, citation and sample rows. Of a task: its other names, what an answer
is, its metrics. Of a metric, as in recall@10: definition, range, tasks and what it needs. Of every
other plug-in: its settings with types and defaults.
"""


Described = Literal["corpus", "task", "metric", "retriever", "generator", "encoder", "index"]
"""What can be described."""


def describe(
    kind: Annotated[Described, argument()],
    name: Annotated[
        str, argument("A name, module:Class or file.py:Class; of a corpus also a path.")
    ],
    split: Split = None,
    data_dir: DataDir = None,
    offline: Offline = False,
    skip_bad: SkipBad = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Of a folder, name every file that is not read.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the content of a corpus, the definition of a metric, or the settings of a plug-in."""
    if kind == "corpus":
        from target_bench.data.own_data import skipping_bad

        name = skipping_bad(name) if skip_bad else name
        _print_corpus(name, split, data_dir, verbose, as_json)
    elif verbose or as_json:
        raise ConfigError(f"--verbose and --json are for a corpus, not for a {kind}")
    else:
        DESCRIPTIONS[kind](name)


_SAMPLE_ROWS = 5


def _print_corpus(
    name: str, split: str | None, data_dir: Path | None, verbose: bool, as_json: bool
) -> None:
    """Print sizes as in the TARGET paper's Table 3, licence, citation and a gold table."""
    from target_bench.cli.output import print_json
    from target_bench.core.text_tables import say
    from target_bench.data.formats.own_folder import TableFolder
    from target_bench.data.languages import language_name
    from target_bench.data.load import is_path, load, loader
    from target_bench.data.table_text import language_in

    dataset = load(name, split, data_dir=data_dir)
    info, corpus = dataset.info, dataset.corpus
    n = len(corpus)
    rows = sum(len(table.rows) for table in corpus) / n if n else 0
    columns = sum(len(table.header) for table in corpus) / n if n else 0
    copies = n - len(set(corpus.groups))
    language = language_in(corpus, "auto")
    contributed = None if is_path(name) else _contributed("corpus", name)
    facts = {
        "corpus": f"{info.title} ({info.name}), split {dataset.split}",
        **({} if contributed is None else {"contributed": contributed}),
        "tasks": ", ".join(info.tasks),
        "tables": n,
        "queries": len(dataset.queries),
        "avg rows": rows,
        "avg columns": columns,
        "language": f"{language_name(language)} ({language})",
        "copies": copies,
        "licence": info.licence,
        "citation": info.citation,
        "source": info.source,
        "fingerprint": corpus.fingerprint,
    }
    plugin = loader(name)
    unread = plugin.unread() if isinstance(plugin, TableFolder) else {}
    if as_json:
        print_json(facts | {"notes": list(dataset.notes), "not read": unread})
        return
    facts["copies"] = f"{copies:,} tables repeat the header and rows of another"
    facts |= {f"note {i}": note for i, note in enumerate(dataset.notes, start=1)}
    for fact, value in facts.items():
        form = ".1f" if isinstance(value, float) else "," if isinstance(value, int) else ""
        say(f"{fact}: {value:{form}}")
    for kind, names in unread.items() if verbose else ():
        say(f"\n{kind} that are not read:")
        for path in names:
            say(f"  {path}")
    if dataset.queries:
        query = dataset.queries[0]
        say(f"\nFirst query {query.id}: {query.text}")
        say(f"Answer: {query.answer}\n")
        for table in [corpus[table_id] for table_id in query.gold[:1]]:
            _print_sample(table, "Gold table")
    elif n:
        say("")
        _print_sample(next(iter(corpus)), "First table")


def _print_sample(table: "Table", what: str) -> None:
    from target_bench.core.text_tables import print_tables, say

    print_tables(_sample(table, what))
    if len(table.rows) > _SAMPLE_ROWS:
        say(f"{len(table.rows) - _SAMPLE_ROWS} more rows")


def _sample(table: "Table", what: str) -> "TextTable":
    from target_bench.core.text_tables import Column, TextTable
    from target_bench.data.table_text import cell_text

    rows = [[cell_text(cell) for cell in row] for row in table.rows[:_SAMPLE_ROWS]]
    parts = [table.context.get("title"), table.context.get("section_title")]
    title = " / ".join([f"{what} {table.id.label}", *(part for part in parts if part)])
    return TextTable([Column(name, prose=True) for name in table.header], rows, title)


def _print_task(name: str) -> None:
    """Print the definition of a task, its metrics and its settings."""
    from target_bench.core.text_tables import say
    from target_bench.data.load import loader

    task = registry.resolve("task", registry.parse("task", name).target)
    short = task.name
    infos = [loader(corpus).info for corpus in registry.working("corpus")]
    facts = {
        "task": f"{task.title} ({short})",
        "also called": ", ".join(task.aliases),
        "input": task.view.takes,
        "an answer is": task.view.gives,
        "corpora": ", ".join(info.name for info in infos if short in info.tasks),
        "metrics": ", ".join(f"{s.name}@k" if s.at_k else s.name for s in _declared(task, name)),
    }
    for fact, value in facts.items():
        if value:
            say(f"{fact}: {value}")
    say("")
    _print_settings(task)


def _declared(task: "type[Task[Any]]", name: str) -> "list[MetricSpec]":
    """Return the metrics of a task: of one with its own ``metrics`` those that it lists.

    Which of those of a built-in task are computed depends on the data.
    """
    from target_bench.core.contract import errors_of
    from target_bench.core.metric_function import metric_of
    from target_bench.core.task_names import make_task
    from target_bench.metrics.scores import all_specs

    if task.metrics.__module__.startswith("target_bench.tasks."):
        return [spec for spec in all_specs() if spec.of == task.scores]
    made, cutoffs = make_task(name), (1,) if task.answer == "ranking" else ()
    with errors_of("task", made, "metrics"):
        specs = [metric_of(each).spec for each in made.metrics((), cutoffs)]
    return list({spec.name: spec for spec in specs}.values())


def _print_metric(name: str) -> None:
    """Print the declaration of a metric, the tasks that use it, and its signature."""
    from target_bench.core.metric_function import is_read_by, metric_of
    from target_bench.core.task_names import make_task
    from target_bench.core.text_tables import say_wrapped
    from target_bench.metrics.scores import named, parse

    made: Metric[Any] | None
    if ":" in name:
        made, k = metric_of(name), None
        spec = made.spec
        tasks = [task for task in registry.names("task") if is_read_by(made, make_task(task))]
    else:
        spec, k = parse(name, needs_cutoff=False)
        made = named(spec.at(k)) if spec.at_k == (k is not None) else None
        tasks = [task for task in registry.names("task") if _scores(task) == spec.of]
    signature = "" if made is None or (spec.at_k and not k) else made.signature
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
        "signature": signature.replace("|", " | "),
    }
    for fact, value in facts.items():
        if value:
            say_wrapped(f"{fact}: {value}", "  ")


def _scores(task: str) -> str:
    return str(registry.resolve("task", task).scores)


def _print_plugin(kind: registry.Kind, name: str) -> None:
    """Print the documentation of a plug-in and its settings."""
    from target_bench.core.text_tables import say

    bounds = bounds_of(kind)
    if name in bounds:
        say(bounds[name])
        return
    if contributed := _contributed(kind, name):
        say(f"contributed: {contributed}\n")
    _print_settings(registry.resolve(kind, registry.parse(kind, name).target, also=bounds))


DESCRIPTIONS: Mapping[Described, Callable[[str], None]] = {
    "task": _print_task,
    "metric": _print_metric,
    "retriever": lambda name: _print_plugin("retriever", name),
    "generator": lambda name: _print_plugin("generator", name),
    "encoder": lambda name: _print_plugin("encoder", name),
    "index": lambda name: _print_plugin("index", name),
}
"""Kind -> what prints a description of the plug-in of a name."""


def _contributed(kind: registry.Kind, name: str) -> str | None:
    """Return the file of a contributed plug-in that is named with or without settings."""
    return registry.contributed_file(kind, registry.parse(kind, name).target)


def _print_settings(plugin: Any) -> None:
    """Print the docstring of a class, and its constructor's arguments as a table."""
    from target_bench.core.text_tables import Column, TextTable, print_tables, say

    text, _ = _read_docstring(plugin)
    documented: dict[str, str] = {}
    for cls in reversed(getattr(plugin, "__mro__", (plugin,))):
        documented |= _read_docstring(cls)[1]
    say(text)
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
    """Return a default as it is written in settings."""
    if value is None or isinstance(value, bool):
        return str(value).lower().replace("none", "null")
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_value_text, value))}]"
    return str(value)


def _type_text(annotation: Any) -> str:
    """Return a type hint in words that settings are written in: ``sqlite | duckdb``, ``float``."""
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
        inner = ", ".join(_type_text(each) for each in arguments if each is not Ellipsis)
        return f"list of {inner}" if name in ("Sequence", "list", "tuple") else f"{name}[{inner}]"
    return "text" if annotation is str else getattr(annotation, "__name__", str(annotation))


_ARGUMENT = re.compile(r" {4}\*{0,2}(\w+): *(.*)")


def _read_docstring(plugin: Any) -> tuple[str, dict[str, str]]:
    """Return the docstring without arguments and errors, and argument -> its meaning."""
    kept: list[str] = []
    meanings: dict[str, str] = {}
    section = name = ""
    for line in inspect.cleandoc(plugin.__doc__ or "").replace("``", "`").splitlines():
        if line and not line.startswith(" "):
            section = line if line in ("Args:", "Raises:") else ""
        start = _ARGUMENT.fullmatch(line) if section == "Args:" else None
        if start:
            name = start[1]
            meanings[name] = start[2]
        elif not section:
            kept.append(line)
        elif section == "Args:" and name:
            meanings[name] = f"{meanings[name]} {line.strip()}".strip()
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), meanings
