"""``target-bench list`` and ``check``: what can be run, and whether it keeps its contract."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal

from target_bench.cli import options
from target_bench.cli.options import argument, option
from target_bench.cli.output import ask_for_consent, print_as, print_json, redirect_prints
from target_bench.cli.progress import TerminalObserver
from target_bench.core import registry
from target_bench.core.built_in import BOUNDS
from target_bench.core.credentials import mask_settings, without_secrets
from target_bench.core.errors import ConfigError, MissingExtraError, PluginError
from target_bench.core.text_tables import say_wrapped

if TYPE_CHECKING:
    from target_bench.core.schema import CorpusInfo

LIST_HELP = """List corpora, tasks, retrievers, generators, encoders, indexes or metrics.

What each needs is listed too: an extra, a download, money.
"""


What = Literal["corpora", "tasks", "retrievers", "generators", "encoders", "indexes", "metrics"]
"""What can be listed."""


_KINDS: Mapping[What, registry.Kind] = {
    "corpora": "corpus",
    "tasks": "task",
    "retrievers": "retriever",
    "generators": "generator",
    "encoders": "encoder",
    "indexes": "index",
}


def list_(
    what: Annotated[What, argument()],
    as_json: options.AsJson = False,
    printed_as: options.PrintedAs = "text",
) -> None:
    """Print a table of names and one-line descriptions, and one of contributed plug-ins."""
    from target_bench.core.text_tables import Column, TextTable

    rows, contributed = _metrics() if what == "metrics" else _plugins(_KINDS[what])
    columns = [Column(name) for name in rows[0]]
    tables = [TextTable(columns, [[*row.values()] for row in rows])]
    if contributed:
        shown = [[*row.values()] for row in contributed]
        tables.append(TextTable(columns, shown, f"contributed: the folder {what}/"))
    records = [*rows, *contributed]
    print_as("json" if as_json else printed_as, records, records, tables)


Rows = list[dict[str, str]]
"""Column -> text of each plug-in."""


def _plugins(kind: registry.Kind) -> tuple[Rows, Rows]:
    """Return the plug-ins of a kind and the contributed ones, of which a broken one says so."""
    rows, contributed = [], []
    for name in registry.names(kind):
        if registry.contributed_file(kind, name) is None:
            rows.append(_row(kind, name))
            continue
        try:
            contributed.append(_row(kind, name))
        except (ConfigError, MissingExtraError) as error:
            broken = dict.fromkeys(rows[0], "") | {kind: name}
            column = "title" if kind == "corpus" else "what it is"
            contributed.append(broken | {column: without_secrets(str(error))})
    rows += [
        {kind: name, "needs": "", "what it is": text} for name, text in list_bounds(kind).items()
    ]
    return rows, contributed


def _row(kind: registry.Kind, name: str) -> dict[str, str]:
    if kind == "corpus":
        from target_bench.data.load import loader

        info = loader(name).info
        return {
            kind: info.name,
            "needs": _download(info),
            "title": info.title,
            "splits (default first)": ", ".join(info.splits),
            "tasks": ", ".join(info.tasks),
            "licence": info.licence,
        }
    plugin = registry.resolve(kind, name)
    if kind == "task":
        return {
            kind: name,
            "also called": ", ".join([plugin.title, *plugin.aliases]),
            "an answer is": plugin.view.gives,
            "what it is": _summary(plugin),
        }
    return {kind: name, "needs": _needs(plugin), "what it is": _summary(plugin)}


def _download(info: "CorpusInfo") -> str:
    """Return how the data of a corpus come here; nothing if they are here."""
    if not (info.files or info.fetched_splits):
        return ""
    fetched = info.fetched_splits
    rest = [split for split in info.splits if split not in fetched]
    by_hand = f"release files{' for ' + ', '.join(rest) if fetched else ''}" if rest else ""
    by_itself = f"fetched on first use: {', '.join(fetched)}" if fetched else ""
    return "; ".join(filter(None, (by_itself, by_hand)))


_NEEDS = re.compile(r"^\s*Needs: (.+)\.$", re.MULTILINE)


def _needs(plugin: type) -> str:
    """Return the needs in the docstring of a plug-in, and whether it may cost money."""
    needs = _NEEDS.search(plugin.__doc__ or "")
    money = "may cost money" if getattr(plugin, "paid", False) else ""
    return "; ".join(filter(None, (needs[1] if needs else "", money)))


def _metrics() -> tuple[Rows, Rows]:
    from target_bench.metrics.scores import all_specs

    rows = [
        {
            "metric": f"{spec.name}@k" if spec.at_k else spec.name,
            "of": spec.scores,
            "range": spec.range,
            "better": "higher" if spec.higher_is_better else "lower",
            "definition": spec.description,
        }
        for spec in all_specs()
    ]
    return rows, []


def _summary(plugin: type) -> str:
    return (plugin.__doc__ or "").strip().split("\n")[0].replace("``", "`")


def list_bounds(kind: str) -> Mapping[str, str]:
    """Return name -> what it is, of the upper and lower bounds among plug-ins of this kind."""
    if kind == "retriever":
        return {name: _summary(registry.resolve("retriever", name)) for name in BOUNDS}
    if kind == "generator":
        from target_bench.harness.systems import ANSWER_MODES

        return {name: mode.description for name, mode in ANSWER_MODES.items()}
    return {}


CHECK_HELP = """Check whether a retriever or generator keeps its contract; exit code 3 if not.

`target-bench check my_file.py:MyRetriever:size=3` runs the same checks on a retriever as
target_bench.testing.check_retriever; `--generator` those of a generator, which a class with
`generate` and a name that no retriever has need not say.
"""


def check(
    plugin: Annotated[
        str | None,
        argument(
            "A retriever, or a generator: a name with settings, module:Class or file.py:Class."
        ),
    ] = None,
    generator: Annotated[str | None, option("A generator, written like that.")] = None,
    skip: Annotated[
        list[str] | None, option("A check to leave out, as NAME or NAME=REASON.")
    ] = None,
    tolerance: Annotated[
        float | None,
        option(
            "How far scores of a retriever may lie apart that should be the same. Default: 1e-4.",
            min=0,
        ),
    ] = None,
    yes: options.Yes = False,
    as_json: options.AsJson = False,
) -> None:
    """Run the checks and print the report."""
    from target_bench.testing import CONTRACTS, run

    # Work on a few tables is short; threads that wait for more would take most of the time.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if (plugin is None) == (generator is None):
        raise ConfigError(
            "name one plug-in: target-bench check RETRIEVER or target-bench check --generator NAME"
        )
    kind: registry.Kind = "generator" if generator else _find_kind(str(plugin))
    name = generator or str(plugin)
    if tolerance is not None and kind != "retriever":
        raise ConfigError("--tolerance is for retrievers")
    left_out = [item.partition("=") for item in skip or ()]
    options: dict[str, Any] = {
        "skip": {n: reason or "left out with --skip" for n, _, reason in left_out}
    }
    if tolerance is not None:
        options["tolerance"] = tolerance
    with TerminalObserver() as observer, redirect_prints():
        contract = CONTRACTS[kind]
        checks = contract.checks(name, **options)
        _agree_to_checks(kind, name, contract.most_sent, yes)
        report = run(name, checks, observer)
    if as_json:
        outcomes = [outcome._asdict() for outcome in report.outcomes]
        print_json({"plugin": report.plugin, "outcomes": outcomes})
    else:
        for line in without_secrets(str(report)).splitlines():
            say_wrapped(line, "    ")
    if report.failed:
        names = ", ".join(outcome.check for outcome in report.failed)
        raise PluginError(f"{report.plugin} does not keep the contract: {names}")


def _find_kind(plugin: str) -> registry.Kind:
    """Return "generator" for a class that only generates and a name that no retriever has."""
    target = registry.parse("retriever", plugin).target
    if ":" not in target:
        is_generator = not registry.is_known("retriever", target) and registry.is_known(
            "generator", target
        )
        return "generator" if is_generator else "retriever"
    named = registry.resolve("retriever", target)
    only_generates = hasattr(named, "generate") and not hasattr(named, "retrieve")
    return "generator" if only_generates else "retriever"


def _agree_to_checks(kind: registry.Kind, name: str, n: int, yes: bool) -> None:
    """Ask before the checks send up to ``n`` texts to what may cost money."""
    from target_bench.harness.consent import Estimate

    with suppress(PluginError):  # one that cannot be made is the first check's to report
        plugin = registry.create(kind, name)
        ask_for_consent(plugin, Estimate(mask_settings(name), n), yes)
