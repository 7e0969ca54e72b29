"""``target-bench runs``: what lies in a store of runs, and its export."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from target_bench.cli import options
from target_bench.cli.options import argument, group, option
from target_bench.cli.output import print_as, print_json, redirect_prints
from target_bench.cli.progress import TerminalObserver
from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.run_config import RUNS
from target_bench.core.text_tables import (
    Column,
    TextTable,
    count_noun,
    list_first,
    print_tables,
    say,
    say_wrapped,
)

if TYPE_CHECKING:
    from target_bench.runs.result import Result
    from target_bench.runs.run import Run

HELP = "List, show, compare and export stored runs."

app = group(HELP)

RunName = Annotated[str, argument(metavar="RUN")]


@app.command("list", help="One line per run: task, corpus, retriever, generator and main score.")
def list_(
    out: options.RunsIn = RUNS,
    corpus: Annotated[str | None, typer.Option(help="Only runs of this corpus.")] = None,
    task: Annotated[str | None, typer.Option(help="Only runs of this task.")] = None,
    as_json: options.AsJson = False,
    printed_as: options.PrintedAs = "text",
    every_run: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print a line for unfinished runs, too.")
    ] = False,
) -> None:
    """Print the runs of a store, unfinished ones last."""
    from target_bench.core.registry import find_task
    from target_bench.runs.run import list_runs

    short_name = task and find_task(task).name
    runs = [
        run
        for run in map(_to_line, list_runs(out))
        if corpus in (None, run["corpus"]) and short_name in (None, run["task"])
    ]
    runs.sort(key=lambda run: run["state"] == "unfinished")
    unfinished = [_id(run["folder"]) for run in runs if run["state"] == "unfinished"]
    shown = runs if every_run else runs[: len(runs) - len(unfinished)] or runs
    columns = [Column(name) for name in _LISTED]
    form = "json" if as_json else printed_as
    print_as(form, runs, runs, [TextTable(columns, list(map(_to_row, shown)))])
    if form != "text":
        return
    say_wrapped(f"{count_noun(len(runs), 'run')} in {out}")
    if len(shown) < len(runs):
        ids = list_first(unfinished, 4)
        say_wrapped(f"{len(unfinished):,} unfinished: {ids} · --verbose shows them", "  ")
    for run in shown:
        if why := run["problem"] or run["error"]:
            say_wrapped(f"{_id(run['folder'])} {run['state']}: {why}", "  ")


_LISTED = ("id\ntask", "corpus\nrun", "queries", "score\nstarted")


def _to_line(run: "Run") -> dict[str, Any]:
    """Return a run as ``runs list --format json`` prints it; unreadable entries are empty."""
    from target_bench.metrics.scores import find_main_metric, find_spec
    from target_bench.runs.score_files import read_scores

    line: dict[str, Any] = {"folder": str(run.folder), "state": run.status, "problem": run.problem}
    line |= dict.fromkeys(("task", "corpus", "split", "about", "label", "started"), "")
    line |= dict.fromkeys(("about", "limit", "queries", "metric", "score", "error"))
    line["digits"] = 3
    with suppress(StoreError):  # its state says so
        manifest, identity, command = run.manifest, run.identity, run.command
        line |= {"task": identity.task, "corpus": identity.corpus, "split": identity.split}
        line |= {"about": command.about, "limit": command.limit, "label": command.label}
        line |= {"started": manifest.started or "", "error": manifest.error}
        stored = read_scores(run.folder) if run.is_scored else None
        line["queries"] = stored.n_queries if stored else manifest.n_queries
        if stored and stored.scores:
            metric = find_main_metric(stored.scores)
            score = stored.scores[metric]
            line |= {"metric": metric, "digits": find_spec(metric, score).digits}
            # The empty rankings of no-context have no score that says anything.
            is_empty = identity.is_no_context and not identity.has_answers
            if run.status == "finished" and not is_empty:
                line["score"] = score.to_json()["value"]
    return line


def _to_row(line: Mapping[str, Any]) -> list[str]:
    from target_bench.metrics.scores import find_spec

    score = line["state"] if line["state"] != "finished" else "no reference"
    if line["state"] == "finished" and line["metric"] is not None:
        spec = replace(find_spec(line["metric"]), digits=line["digits"])
        score = f"{line['metric']} {spec.text(line['score'])}"
    # Rankings that answers are built on are about the task of those.
    sample = " (sample)" if line["limit"] == line["queries"] else ""
    answer_task = "" if line["about"] in (None, line["task"]) else f" ({line['about']})"
    return [
        f"{_id(line['folder'])}\n{line['task']}",
        f"{line['corpus']} {line['split']}{answer_task}\n{line['label']}",
        "" if line["queries"] is None else f"{line['queries']:,}{sample}",
        f"{score}\n{line['started'][:16].replace('T', ' ')}",
    ]


def _id(folder: str | Path) -> str:
    return Path(folder).name.rpartition("-")[2]


@app.command("show", help="One run: identity, scores, denominators, environment, timings, notes.")
def show(
    run: RunName,
    by: options.By = None,
    out: options.RunsIn = RUNS,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print all metrics and entries.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Print the content of a run folder."""
    from target_bench.runs.find import find_run
    from target_bench.runs.result import read_run
    from target_bench.runs.score_tables import make_slice_table, slices_to_json

    stored = read_run(find_run(run, out))
    document = _to_document(stored)
    problem = document.get("problem")
    slices = {} if problem else {name: stored.scores_by(name) for name in by or ()}
    if as_json:
        print_json(document | ({"by": slices_to_json(slices)} if slices else {}))
    else:
        _show(document, verbose)
        run_name = document["run"]
        print_tables(*(make_slice_table(n, [(run_name, parts)]) for n, parts in slices.items()))
    if problem:
        raise StoreError(str(problem))


_OPTIONAL = {
    *("error", "problem", "code", "times_left_out", "latency_ms"),
    *("distractors", "data_notes", "notes"),
}


def _to_document(run: "Result") -> dict[str, Any]:
    """Return all of a run but its answers: part -> entry -> value; ``scores`` as stored."""
    from target_bench.runs.manifest import flatten
    from target_bench.runs.score_tables import describe_edited
    from target_bench.runs.times import read_cold_times

    manifest, times = run.run.manifest, read_cold_times(run.run.manifest)
    scores = run.stored.scores if run.run.is_scored else {}
    answers = run.stored.answers.to_json() if run.run.is_scored and run.stored.answers else {}
    document: dict[str, Any] = {
        "run": str(run.folder),
        "state": run.run.status,
        "started": manifest.started,
        "error": manifest.error,
        "problem": run.run.problem,
        "code": describe_edited(run, scores) if scores else None,
        "command": dict(flatten(manifest.command.to_json())),
        "identity": dict(flatten(manifest.identity.content)),
        "environment": dict(flatten(manifest.environment)),
        "seconds": dict(times.seconds),
        "times_left_out": dict(times.left_out),
        "latency_ms": dict(flatten(times.latency or {})),
        "data": {"source": manifest.data, "files": len(manifest.files)},
        "distractors": {mixed.spec: mixed.n for mixed in manifest.distractors},
        "data_notes": _number(manifest.data_notes),
        "notes": _number(manifest.notes),
        # Entries of the answers replace those of the rankings with the same name.
        "counts": run.stored.counts.to_json() | answers if run.run.is_scored else {},
        "scores": {name: score.to_json() for name, score in scores.items()},
    }
    return {n: value for n, value in document.items() if value or n not in _OPTIONAL}


def _number(texts: Sequence[str]) -> dict[str, str]:
    return {str(i): text for i, text in enumerate(texts, start=1)}


def _show(document: dict[str, Any], verbose: bool) -> None:
    """Print the state of a run and its scores first, then what is recorded of it.

    Unless ``verbose``: the main metrics, the identity, and the first entries of other parts.
    """
    from target_bench.metrics.scores import find_spec, list_main_metrics

    scores = document.pop("scores")
    parts = {name: part for name, part in document.items() if isinstance(part, dict)}
    for name, value in document.items():
        if name not in parts:
            say_wrapped(f"{name}: {value}", "  ")
    rows = []
    for name in scores if verbose or not scores else list_main_metrics(scores):
        score, spec = scores[name], find_spec(name, scores[name])
        bounds = (score["low"], score["high"])  # there are none over no query
        interval = "" if None in bounds else spec.interval(*bounds)
        rows.append([name, spec.text(score["value"]), interval, f"{score['n']:,}"])
    if rows:
        titles = ("metric", "score", "95% interval", "queries")
        say("")
        print_tables(TextTable([Column(name, right=name != "metric") for name in titles], rows))
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


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


WHY_HELP = """In what two runs differ, or why the same command would use a run again or not.

`target-bench runs why RUN` compares a run with what its command would make now, and
`target-bench runs why RUN RUN` two runs: code (with the changed lines), settings, data, prompt.
"""


@app.command("why", help=WHY_HELP)
def why(
    runs: Annotated[list[str], argument("One run, or two.", metavar="RUN [RUN]")],
    out: options.RunsIn = RUNS,
    data_dir: options.DataDir = None,
    offline: options.Offline = False,
) -> None:
    """Print the differences between two runs, or between a run and its command now."""
    from target_bench.harness.stored import make_manifest_again
    from target_bench.runs.find import find_run
    from target_bench.runs.result import read_run
    from target_bench.runs.why import find_changes, read_copies

    if len(runs) > 2:
        raise ConfigError(f"{len(runs)} runs are named: name one run, or two to compare")
    first, *others = [read_run(find_run(name, out)) for name in runs]
    if others:
        after, sources = others[0].run.manifest, read_copies(others[0])
        heading = f"{first.folder.name} and {others[0].folder.name} differ:"
        same = ""
    else:
        with TerminalObserver() as observer, redirect_prints():
            after, sources = make_manifest_again(first, data_dir, observer)
        is_new = after.identity != first.identity
        heading = f"The same command {'makes a new run' if is_new else 'scores this run again'}:"
        verb = "uses this run again" if first.run.status == "finished" else "goes on with this run"
        same = f"; the same command {verb}"
    changes = find_changes(first.run.manifest, after, read_copies(first), sources)
    say_wrapped(heading if changes else f"nothing that changes a result differs{same}")
    for change in changes:
        say_wrapped(f"  {change}", "    ")


EXPORT_HELP = """Write a run for other tools.

`target-bench runs export runs/retrieval-mini-... --format trec -o trec/` writes run.trec and
qrels.trec, which ir-measures and trec_eval read.
"""


@app.command("export", help=EXPORT_HELP)
def export(
    run: Annotated[str, argument("A run folder, or its name or id in `runs list`.", metavar="RUN")],
    format: Annotated[
        Literal["trec"],
        typer.Option(help="Run and judgements as TREC has them."),
    ] = "trec",
    out: Annotated[
        Path | None,
        option("Where the files go. Default: the run folder.", "--out", "-o", metavar="FOLDER"),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(help="The corpus, if it was moved. Default: that of the run."),
    ] = None,
    data_dir: options.DataDir = None,
    offline: options.Offline = False,
) -> None:
    """Write the rankings of a run, with its corpus loaded."""
    from target_bench.data.formats import detect
    from target_bench.data.load import is_path, load
    from target_bench.runs.find import find_run
    from target_bench.runs.ranking_files import export_trec
    from target_bench.runs.result import read_run

    stored = read_run(find_run(run, RUNS))
    name = corpus or stored.command.corpus
    if name is None:
        raise ConfigError(
            f"{stored.folder} is of a corpus that was made in Python; name it with --corpus"
        )
    if is_path(name) and not detect.split_settings(name)[0].exists():
        raise ConfigError(
            f"{name}: the corpus of the run is not there; name its folder with --corpus"
        )
    dataset = load(name, stored.identity.split, stored.command.distractors, data_dir=data_dir)
    folder = out or stored.folder
    for path in export_trec(stored, dataset, folder):
        typer.echo(path)
    if any(ranking.at for ranking in stored.run.rankings.values()):
        deepest = stored.identity.top_k[-1]
        say_wrapped(
            f"The rankings of {stored.command.label} depend on how many tables are asked for. "
            f"run.trec has those at k = {deepest} alone, so its figures at smaller cutoffs are not "
            "those of scores.json."
        )
