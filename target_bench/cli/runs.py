"""``target-bench runs``: what lies in a store of runs, whether it is whole, and its export."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from target_bench.cli.command_line import (
    AsJson,
    By,
    DataDir,
    Offline,
    PrintedAs,
    argument,
    group,
    option,
)
from target_bench.cli.compare import RunsIn
from target_bench.cli.output import print_as, print_json
from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.text_tables import (
    Column,
    TextTable,
    counted,
    print_tables,
    say,
    say_wrapped,
)
from target_bench.harness.options import RUNS

if TYPE_CHECKING:
    from target_bench.runs.integrity import Checked

HELP = "List, show, compare, check, clean up and export stored runs."

app = group(HELP)

Listed = Mapping[str, Any]
"""A line of the list: an entry of ``runs.documents.listed``."""

RunName = Annotated[str, argument(metavar="RUN")]


@app.command("list", help="One line per run: task, corpus, retriever, generator and main score.")
def list_(
    out: RunsIn = RUNS,
    corpus: Annotated[str | None, typer.Option(help="Only runs of this corpus.")] = None,
    task: Annotated[str | None, typer.Option(help="Only runs of this task.")] = None,
    as_json: AsJson = False,
    printed_as: PrintedAs = "text",
) -> None:
    """Print the runs of a store."""
    from target_bench.runs.documents import listed
    from target_bench.runs.result import list_runs

    short_name = _task(task)
    runs = [
        run
        for run in listed(list_runs(out))
        if corpus in (None, run["corpus"]) and short_name in (None, run["task"])
    ]
    columns = [Column(name, below=name in _BELOW) for name in _LISTED]
    form = "json" if as_json else printed_as
    print_as(form, runs, runs, [TextTable(columns, list(map(_row, runs)))])
    if form != "text":
        return
    say_wrapped(f"{counted(len(runs), 'run')} in {out}")
    for run in runs:
        if run["state"] in ("failed", "interrupted"):
            say_wrapped(f"{_id(run)} {run['state']}: {run['error']}", "  ")
    damaged = sum(run["state"] in ("damaged", "unreadable") for run in runs)
    if damaged:
        say_wrapped(f"{damaged} damaged; target-bench runs fsck --out {out} says where")


def _row(run: Listed) -> list[str]:
    return [
        _id(run),
        run["task"],
        _data(run),
        run["label"],
        "" if run["queries"] is None else f"{run['queries']:,}",
        _headline(run),
        run["started"][:16].replace("T", " "),
    ]


def _id(run: Listed) -> str:
    return Path(run["folder"]).name.rpartition("-")[2]


@app.command("show", help="One run: identity, scores, denominators, environment, timings, notes.")
def show(
    run: RunName,
    by: By = None,
    out: RunsIn = RUNS,
    config: Annotated[
        bool,
        typer.Option("--config", help="Print its options alone, as run --config reads them."),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print all metrics and entries.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the content of a run folder."""
    if config:
        _show_config(run, out)
        return
    from target_bench.runs.documents import described
    from target_bench.runs.find import find
    from target_bench.runs.result import read_run, slice_table, slices_to_json

    stored = read_run(find(run, out))
    document = described(stored)
    problems = document.get("problems")
    slices = {} if problems else {name: stored.scores_by(name) for name in by or ()}
    if as_json:
        print_json(document | ({"by": slices_to_json(slices)} if slices else {}))
    else:
        _show(document, verbose)
        print_tables(*(slice_table(name, [(document["run"], slices)]) for name in slices))
    if problems:
        raise StoreError(f"{document['run']}: the run is damaged: {problems['1']}")


def _show_config(run: str, out: Path) -> None:
    import yaml

    from target_bench.harness.run_config import config_of
    from target_bench.runs.find import find
    from target_bench.runs.result import read_run

    stored = read_run(find(run, out))
    config = config_of(stored.asked, stored.split)
    options = yaml.safe_dump(config, sort_keys=False, allow_unicode=True, width=100)
    name = stored.folder.name
    typer.echo(f"# {name}: target-bench run --config FILE makes it again\n{options}", nl=False)


def _show(document: dict[str, Any], verbose: bool) -> None:
    """Print the state of a run and its scores first, then what is recorded of it.

    Unless ``verbose``: the main metrics, the identity, and the first entries of other parts.
    """
    from target_bench.metrics.scores import main_metrics

    scores = document.pop("scores")
    shown = list(scores) if verbose or not scores else main_metrics(scores)
    parts = {name: part for name, part in document.items() if isinstance(part, dict)}
    for name, value in document.items():
        if name not in parts:
            say_wrapped(f"{name}: {value}", "  ")
    if scores:
        rows = [[name, *_score(name, scores[name])] for name in shown]
        columns = [Column(name, right=name != "metric") for name in _SCORE_COLUMNS]
        say("")
        print_tables(TextTable(columns, rows))
    for name, part in parts.items():
        say(f"\n{name}:")
        # The table above names the metrics; in full they are long.
        entries = [path for path in part if verbose or not path.startswith("metrics: ")]
        whole = verbose or name == "identity" or len(entries) <= _ENTRIES
        most = len(entries) if whole else _ENTRIES - 1
        for path in entries[:most]:
            known = path if path.startswith("metrics: ") else f"{path}: {_cell(part[path])}"
            say_wrapped(f"  {known}", "    ")
        if entries[most:]:
            say(f"  and {len(entries) - most} more")
    if not verbose:
        say("\n--verbose prints all metrics and entries.")


_ENTRIES = 12
"""Lines of a part that are printed."""


@app.command("diff", help="The differences of two runs: identity, environment, scores.")
def diff(
    run: RunName,
    other: Annotated[str, argument(metavar="RUN")],
    out: RunsIn = RUNS,
    as_json: AsJson = False,
) -> None:
    """Print one line per difference."""
    from dataclasses import asdict

    from target_bench.runs.differences import differences
    from target_bench.runs.find import find
    from target_bench.runs.result import read_run

    first, second = find(run, out), find(other, out)
    changes = differences(read_run(first), read_run(second))
    if as_json:
        print_json([asdict(each) for each in changes])
        return
    rows = [[f"{each.part}.{each.path}", _cell(each.first), _cell(each.second)] for each in changes]
    if rows:
        names = [folder.name.rpartition("-")[2] for folder in (first, second)]
        columns = [Column("what"), *(Column(name, prose=True) for name in names)]
        print_tables(TextTable(columns, rows))
    else:
        say("the two runs differ in nothing")


EXPORT_HELP = """Write a run for other tools.

`target-bench runs export runs/retrieval-mini-... --format trec -o trec/` writes run.trec and
qrels.trec, which ir-measures and trec_eval read. `--format lines` writes answers.txt, an answer a
line in the order of the corpus, which ToTTo's test server reads. `--format mlflow -o URI` writes
parameters, scores with intervals, tags and files to an MLflow tracking store.
"""


class Format(StrEnum):
    """What can be written."""

    trec = "trec"
    lines = "lines"
    mlflow = "mlflow"


@app.command("export", help=EXPORT_HELP)
def export(
    run: Annotated[str, argument("A run folder, or its name or id in `runs list`.", metavar="RUN")],
    format: Annotated[
        Format,
        typer.Option(
            help="Run and judgements as TREC has them, an answer a line, or a run of MLflow."
        ),
    ] = Format.trec,
    out: Annotated[
        str | None,
        option(
            "Where the files go; for MLflow a tracking URI, or a folder for a SQLite store. "
            "Default: the run folder; for MLflow $MLFLOW_TRACKING_URI, else mlruns.",
            "--out",
            "-o",
            metavar="PLACE",
        ),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(help="The corpus, if it was moved. Default: that of the run."),
    ] = None,
    data_dir: DataDir = None,
    offline: Offline = False,
) -> None:
    """Write a run: rankings or answers, with its corpus loaded, or all of it to MLflow."""
    from target_bench.data.formats import detect
    from target_bench.data.load import is_path, load, of_task
    from target_bench.runs.answer_lines import export_answer_lines
    from target_bench.runs.find import find
    from target_bench.runs.result import read_run
    from target_bench.runs.trec import export as export_trec

    stored = read_run(find(run, RUNS))
    if format is Format.mlflow:
        from target_bench.runs.mlflow_export import export_to_mlflow

        place = out or os.environ.get("MLFLOW_TRACKING_URI") or "mlruns"
        typer.echo(export_to_mlflow(stored, place))
        return
    name = corpus or stored.asked.corpus
    if name is None:
        raise ConfigError(
            f"{stored.folder} is of a corpus that was made in Python; name it with --corpus"
        )
    if is_path(name) and not detect.path_and_settings(name)[0].exists():
        raise ConfigError(f"{name}, which the run was of, is not there; name its place: --corpus")
    dataset = load(name, stored.split, stored.asked.distractors, data_dir=data_dir)
    folder = Path(out or stored.folder)
    if format is Format.lines:
        path, n_empty = export_answer_lines(stored, of_task(dataset, stored.identity.task), folder)
        typer.echo(path)
        if n_empty:
            say(f"{counted(n_empty, 'line')} empty: no answer")
        return
    for path in export_trec(stored, dataset, folder):
        typer.echo(path)


@app.command("fsck", help="Check every run folder; exit code 4 if one is damaged.")
def fsck(
    out: RunsIn = RUNS,
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN]...", help="Default: all.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print damaged and unfinished runs and temporary files."""
    from target_bench.runs.find import find, run_folders
    from target_bench.runs.integrity import check

    folders = [find(run, out) for run in runs] if runs else run_folders(out)
    checks = [check(folder) for folder in folders]
    if as_json:
        print_json([checked.to_json() for checked in checks])
    else:
        for line in _report(checks):
            say(line)
    damaged = sum(checked.state == "damaged" for checked in checks)
    if damaged:
        raise StoreError(f"damaged in {out}: {damaged} of {counted(len(checks), 'run')}")


def _report(checks: "Sequence[Checked]") -> list[str]:
    lines = []
    for checked in checks:
        if checked.state == "unfinished":
            total = "" if checked.n_queries is None else f" of {checked.n_queries}"
            missing = (
                ""
                if checked.n_queries is None
                else f", {checked.n_queries - checked.answered} missing"
            )
            lines.append(
                f"{checked.folder}: unfinished, {checked.answered}{total} answered{missing}"
            )
        lines += [f"{checked.folder}: DAMAGED: {problem}" for problem in checked.problems]
        lines += [f"{checked.folder}: {note}" for note in checked.notes]
    count = dict.fromkeys(("finished", "unfinished", "damaged"), 0)
    for checked in checks:
        count[checked.state] += 1
    return [*lines, ", ".join(f"{n} {state}" for state, n in count.items())]


@app.command("gc", help="List runs that were never finished, and leftovers; --yes removes them.")
def gc(
    out: RunsIn = RUNS,
    yes: Annotated[bool, typer.Option("--yes", help="Remove the listed files.")] = False,
) -> None:
    """List, and with ``--yes`` remove."""
    from target_bench.runs.integrity import removable, remove

    leftovers = removable(out)
    for leftover in leftovers:
        what = "" if leftover.whole else f" ({', '.join(leftover.files)})"
        say(f"{leftover.folder}{what}: {leftover.why}, {leftover.bytes / 1e6:.1f} MB")
    if not leftovers:
        say("nothing to remove")
    elif not yes:
        say(f"{len(leftovers)} to remove; their answers are lost. Add --yes to remove them.")
    else:
        gone = sum(map(remove, leftovers))
        say(f"removed {gone} of {len(leftovers)}")


_LISTED = ("id", "task", "corpus", "run", "queries", "score", "started")
_BELOW = ("task", "run", "started")
_SCORE_COLUMNS = ("metric", "score", "95% interval", "queries")


def _task(name: str | None) -> str | None:
    from target_bench.core.task_names import task_named

    return None if name is None else task_named(name)


def _data(run: Listed) -> str:
    """Corpus and split; of rankings that answers are built on the task that they are about."""
    answer_task = "" if run["about"] in (None, run["task"]) else f" ({run['about']})"
    return f"{run['corpus']} {run['split']}{answer_task}"


def _headline(run: Listed) -> str:
    if run["state"] != "finished":
        return str(run["state"])
    if run["metric"] is None:
        return "no reference"
    from target_bench.metrics.scores import spec_of

    spec = replace(spec_of(run["metric"]), digits=run["digits"])
    return f"{run['metric']} {spec.text(run['score'])}"


def _score(name: str, score: Mapping[str, Any]) -> tuple[str, str, str]:
    """Value, interval and number of queries; a score over no query has neither of the first."""
    from target_bench.metrics.scores import spec_of

    spec, bounds = spec_of(name, score), (score["low"], score["high"])
    shown = "" if None in bounds else spec.interval(*bounds)
    return spec.text(score["value"]), shown, f"{score['n']:,}"


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
