"""``target-bench describe``: one corpus, task, metric or other plug-in in full."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Union,
    cast,
    get_args,
    get_origin,
)

import typer

from target_bench.cli import options
from target_bench.cli.options import argument
from target_bench.cli.output import exit_if_incomplete, print_json
from target_bench.cli.plugins import list_bounds
from target_bench.cli.samples import lay_out_sample
from target_bench.core import registry
from target_bench.core.errors import ConfigError, unknown_name
from target_bench.core.text_tables import count_noun, print_tables, say, say_wrapped, terminal_width

if TYPE_CHECKING:
    from target_bench.core.metric import Metric, MetricSpec
    from target_bench.core.schema import Dataset, Table
    from target_bench.core.task import Task

DESCRIBE_HELP = """Describe a corpus, task, metric, retriever, generator, encoder or index.

Of a corpus: sizes, licence, citation and sample rows. Of a task: its other names, what an answer
is, its metrics. Of a metric, as in recall@10: definition, range, tasks and what it needs. Of every
other plug-in: its settings with types and defaults.
"""

Kind = Literal["corpus", "task", "metric", "retriever", "generator", "encoder", "index"]

_SAMPLE_ROWS = 5


@dataclass
class Description:
    """A corpus, task, metric or other plug-in."""

    facts: dict[str, Any]  # as JSON has them; nothing is printed for None, and empty ones
    printed: Mapping[str, str] = field(default_factory=dict)  # fact -> its text for people
    text: str = ""  # paragraphs, whose lines may be joined
    settings: Sequence[Mapping[str, Any]] | None = None  # None for a corpus or a metric
    notes: Sequence[str] = ()
    print_more: Callable[[], None] | None = None  # prints below it on the terminal


def _kind(word: str) -> str:
    kinds = get_args(Kind)
    if word in kinds:
        return word
    candidates = [kind for kind in kinds if registry.is_known(kind, word.partition(":")[0])]
    example = f"{candidates[0]} {word}" if candidates else "corpus ./my_tables"
    raise ConfigError(f"{unknown_name('kind', word, kinds)} As in: target-bench describe {example}")


def describe(
    kind: Annotated[str, argument(f"One of {', '.join(get_args(Kind))}.", parser=_kind)],
    name: Annotated[
        str, argument("A name, module:Class or file.py:Class; of a corpus also a path.")
    ],
    split: options.Split = None,
    data_dir: options.DataDir = None,
    offline: options.Offline = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Of a folder, name every file that is not read.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Print the content of a corpus, the definition of a metric, or the settings of a plug-in."""
    if kind != "corpus" and verbose:
        raise ConfigError(f"--verbose is for a corpus, not for a {kind}")
    if kind == "corpus":
        description = _describe_corpus(name, split, data_dir, verbose)
    elif kind == "task":
        description = _describe_task(name)
    elif kind == "metric":
        description = _describe_metric(name)
    else:
        description = _describe_plugin(cast(registry.Kind, kind), name)
    if as_json:
        document = dict(description.facts)
        if kind == "corpus":
            document["notes"] = list(description.notes)
        if description.text:
            document["description"] = description.text
        if description.settings is not None:
            document["settings"] = description.settings
        print_json(document)
    else:
        _print(description)
    exit_if_incomplete(description.notes)


def _print(description: Description) -> None:
    for fact, value in description.facts.items():
        if text := description.printed.get(fact, _fact_text(value)):
            say_wrapped(f"{fact}: {text}", "  ")
    for i, paragraph in enumerate(filter(None, re.split(r"\n\n+", description.text))):
        if description.facts or i:
            say("")
        # Its lines are joined in a terminal, unless it is a list or an example.
        lines = paragraph.split("\n")
        is_list = any(line.startswith((" ", "- ", "* ")) for line in lines)
        for line in lines if is_list or not terminal_width() else [" ".join(lines)]:
            say_wrapped(line, "  ")
    if description.settings is not None:
        written = "Settings, written as NAME:setting=value,..."
        say(f"\n{written if description.settings else 'It has no settings.'}")
    for setting in description.settings or ():
        default = "..." if setting["needed"] else _value_text(setting["default"])
        type_ = f"  ({setting['type']})" if setting["type"] else ""
        say_wrapped(f"  {setting['setting']}={default}{type_}", "    ")
        if setting["meaning"]:
            say_wrapped(f"      {setting['meaning']}", "      ")
    if description.print_more is not None:
        say("")
        description.print_more()
    for note in description.notes:
        say_wrapped(f"note: {note}", "  ")


def _fact_text(value: Any) -> str:
    if value is None or isinstance(value, Mapping):  # JSON alone has a mapping
        return ""
    if isinstance(value, Sequence):
        return value if isinstance(value, str) else ", ".join(map(str, value))
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"


# Corpora


def _describe_corpus(
    name: str, split: str | None, data_dir: Path | None, verbose: bool
) -> Description:
    """Describe sizes as in the TARGET paper's Table 3, licence, citation and a gold table."""
    from target_bench.data.formats.own_folder import TableFolder
    from target_bench.data.languages import name_language
    from target_bench.data.load import is_path, load, loader
    from target_bench.data.table_text import list_languages, recognize_corpus_language

    dataset = load(name, split, data_dir=data_dir)
    info, corpus = dataset.info, dataset.corpus
    n = len(corpus)
    copies = n - len(set(corpus.groups))
    recognised = recognize_corpus_language(corpus)
    languages: Sequence[str] = list_languages(corpus)
    if len(languages) == 1:
        languages = [recognised or "en"]
    plugin = loader(name)
    unread = plugin.unread() if isinstance(plugin, TableFolder) else {}
    language = ", ".join(f"{name_language(code)} ({code})" for code in languages)
    facts = {
        "corpus": f"{info.title} ({info.name}), split {dataset.split}",
        "queries": len(dataset.queries),
        "tables": n,
        "avg rows": sum(len(table.rows) for table in corpus) / n if n else 0.0,
        "avg columns": sum(len(table.header) for table in corpus) / n if n else 0.0,
        "copies": copies,
        "tasks": list(info.tasks),
        "language": language,
        "licence": info.licence,
        "citation": info.citation,
        "source": info.source,
        "contributed": None if is_path(name) else _contributed_file("corpus", name),
        "fingerprint": corpus.fingerprint,
        "not read": unread,
    }
    repeat = "repeats" if copies == 1 else "repeat"
    repeated = f"{count_noun(copies, 'table')} {repeat} the header and rows of another"
    printed = {"copies": repeated if copies else ""}
    if recognised is None and len(languages) == 1:
        printed["language"] = f"not recognised; read as {language}"
    if is_path(name):
        printed["citation"] = ""  # it is the user's own

    def print_more() -> None:
        _print_samples(dataset)
        for kind, names in unread.items() if verbose else ():
            say(f"\n{kind} that are not read:")
            for path in names:
                say(f"  {path}")

    return Description(facts, printed, notes=dataset.notes, print_more=print_more)


def _print_samples(dataset: "Dataset") -> None:
    """Print the first query with its gold table, or the first table where there is none."""
    if dataset.queries:
        query = dataset.queries[0]
        say_wrapped(f"First query {query.id}: {query.text}", "  ")
        if query.answer:
            say_wrapped(f"Answer: {query.answer}", "  ")
        for table_id in query.gold[:1]:
            say("")
            _print_table(dataset.corpus[table_id], "Gold table")
    elif len(dataset.corpus):
        _print_table(next(iter(dataset.corpus)), "First table")


def _print_table(table: "Table", name: str) -> None:
    parts = [str(table.context.get(key) or "") for key in ("title", "section_title")]
    is_path = parts[0].replace(" ", "") == table.id.table_id.replace(" ", "")
    title = " / ".join(filter(None, [f"{name} {table.id.label}", *parts[is_path:]]))
    print_tables(lay_out_sample(table, range(min(_SAMPLE_ROWS, len(table.rows))), title))


# Tasks and metrics


def _describe_task(name: str) -> Description:
    """Describe the definition of a task, its metrics and its settings."""
    from target_bench.data.load import loader

    task = registry.resolve("task", registry.parse("task", name).target)
    infos = [loader(corpus).info for corpus in registry.list_importable("corpus")]
    facts = {
        "task": f"{task.title} ({task.name})",
        "also called": list(task.aliases),
        "input": task.view.takes,
        "an answer is": task.view.gives,
        "corpora": [info.name for info in infos if task.name in info.tasks],
        "metrics": [f"{s.name}@k" if s.at_k else s.name for s in _list_metrics(task, name)],
    }
    return Description(facts, text=_read_docstring(task)[0], settings=_list_settings(task))


def _list_metrics(task: "type[Task[Any]]", name: str) -> "list[MetricSpec]":
    """Return the metrics of a task: of one with its own ``metrics`` those that it lists.

    Which of those of a built-in task are computed depends on the data.
    """
    from target_bench.core.metric_function import resolve_metric
    from target_bench.core.plugin_errors import guard_plugin
    from target_bench.core.registry import make_task
    from target_bench.metrics.scores import all_specs

    if task.metrics.__module__.startswith("target_bench.tasks."):
        return [spec for spec in all_specs() if spec.scores == task.scores]
    made, cutoffs = make_task(name), (1,) if task.answer == "ranking" else ()
    with guard_plugin("task", made, "metrics"):
        specs = [resolve_metric(each).spec for each in made.metrics((), cutoffs)]
    return list({spec.name: spec for spec in specs}.values())


def _describe_metric(name: str) -> Description:
    """Describe the declaration of a metric, the tasks that use it, and its signature."""
    from target_bench.core.metric_function import can_score, resolve_metric
    from target_bench.core.registry import make_task
    from target_bench.metrics.scores import make_default_metric, parse

    metric: Metric[Any] | None
    names = registry.names("task")
    if ":" in name:
        metric, k = resolve_metric(name), None
        spec = metric.spec
        tasks = [task for task in names if can_score(metric, make_task(task))]
    else:
        spec, k = parse(name, needs_cutoff=False)
        metric = make_default_metric(spec.at(k)) if spec.at_k == (k is not None) else None
        tasks = [t for t in names if registry.resolve("task", t).scores == spec.scores]
    signature = "" if metric is None or (spec.at_k and not k) else metric.signature
    facts = {
        "metric": spec.at(k) if k else f"{spec.name}@k" if spec.at_k else spec.name,
        "label": spec.label_at(k or "k"),
        "definition": spec.description,
        "range": spec.range,
        "better": "higher" if spec.higher_is_better else "lower",
        "of": spec.scores,
        "tasks": tasks,
        "needs": list(spec.needs),
        "source": spec.source,
        "decimals": spec.digits,
        "rank": spec.rank,
        "signature": signature,
    }
    no_rank = "none: it stands for a run only where there is no other"
    printed = {
        "needs": ", ".join(spec.needs) or "nothing but predictions and gold",
        "rank": no_rank
        if spec.rank is None
        else f"{spec.rank}; the metric of the lowest rank stands for a run",
        "signature": signature.replace("|", " | "),
    }
    return Description(facts, printed)


# Plug-ins


def _describe_plugin(kind: registry.Kind, name: str) -> Description:
    """Describe a plug-in by its documentation and its settings."""
    modes = list_bounds(kind)
    if name in modes:
        return Description({}, text=modes[name])
    plugin = registry.resolve(kind, registry.parse(kind, name).target, other_names=modes)
    facts = {kind: name, "contributed": _contributed_file(kind, name)}
    return Description(facts, text=_read_docstring(plugin)[0], settings=_list_settings(plugin))


def _contributed_file(kind: registry.Kind, name: str) -> str | None:
    return registry.contributed_file(kind, registry.parse(kind, name).target)


def _list_settings(plugin: Any) -> list[dict[str, Any]]:
    """Return the arguments of the constructor with their meanings from the docstrings."""
    documented: dict[str, str] = {}
    for cls in reversed(getattr(plugin, "__mro__", (plugin,))):
        documented |= _read_docstring(cls)[1]
    try:
        signature = inspect.signature(plugin, eval_str=True)
    except NameError:  # a type hint that exists for type checkers only
        signature = inspect.signature(plugin)
    return [
        {
            "setting": parameter.name,
            "type": _type_text(parameter.annotation),
            "needed": parameter.default is parameter.empty,
            "default": _as_json(parameter.default),
            "meaning": _PYTHON_VALUE.sub(_as_yaml, documented.get(parameter.name, "")),
        }
        for parameter in signature.parameters.values()
    ]


_PYTHON_VALUE = re.compile(r"\b(None|True|False)(?= (?:to|for)\b|:)")


def _as_yaml(value: re.Match[str]) -> str:
    return {"None": "null", "True": "true", "False": "false"}[value[0]]


def _as_json(default: Any) -> Any:
    if default is inspect.Parameter.empty:
        return None
    if isinstance(default, tuple | list):
        return list(map(_as_json, default))
    return default if isinstance(default, bool | int | float | str | None) else str(default)


def _value_text(value: Any) -> str:
    """Return a default as it is written in settings."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_value_text, value))}]"
    return str(value)


_TYPES = {NoneType: "null", str: "text"} | {t: t.__name__ for t in (bool, int, float, dict, Path)}


def _type_text(annotation: Any) -> str:
    """Return a type hint as settings are written: ``sqlite | duckdb``; objects are left out."""
    if isinstance(annotation, str):  # a hint that exists for type checkers only
        return annotation
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " | ".join(map(_value_text, arguments))
    if origin in (Union, UnionType):
        return " | ".join(filter(None, map(_type_text, arguments)))
    if origin is Annotated:
        return _type_text(arguments[0])
    if arguments and issubclass(origin, Mapping):
        return f"{{name: {_type_text(arguments[1]) or 'value'}}}"
    if arguments and issubclass(origin, Sequence):
        return f"list of {_type_text(arguments[0])}".removesuffix(" of ")
    return _TYPES.get(annotation, "") if origin is None else ""


_ARGUMENT = re.compile(r" {4}\*{0,2}(\w+): *(.*)")


def _read_docstring(plugin: Any) -> tuple[str, dict[str, str]]:
    """Return the docstring without arguments, attributes and errors, and argument -> meaning."""
    kept: list[str] = []
    meanings: dict[str, str] = {}
    section = name = ""
    for line in inspect.cleandoc(plugin.__doc__ or "").replace("``", "`").splitlines():
        if line and not line.startswith(" "):
            section = line if line in ("Args:", "Attributes:", "Raises:") else ""
        if not section:
            kept.append(line)
        elif section == "Args:":
            if start := _ARGUMENT.fullmatch(line):
                name, meanings[start[1]] = start.groups()
            elif name:
                meanings[name] = f"{meanings[name]} {line.strip()}".strip()
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), meanings
