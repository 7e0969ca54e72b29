"""``compare``: stored runs, or per-query values of other harnesses, side by side, with tests."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan, nan
from pathlib import Path
from typing import Any, Literal

import numpy as np

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.metric import Metric, MetricSpec, Score, score_of
from target_bench.metrics import stats
from target_bench.metrics.scores import definition, leading, main_metrics, specs_of
from target_bench.reporting.comparison import (
    Comparison,
    Difference,
    Row,
)
from target_bench.reporting.value_files import ValueColumns, read_value_files
from target_bench.runs import slicing
from target_bench.runs.differences import check_same_slices, labels
from target_bench.runs.find import find, is_store, labelled
from target_bench.runs.manifest import read_manifest
from target_bench.runs.newest import (
    BASELINE_OF_FOLDER,
    COMPARED,
    Shared,
    newest_runs,
    newest_runs_of_corpora,
)
from target_bench.runs.result import SYNTHETIC, Result, Results, check_same_data, read_run
from target_bench.runs.slicing import Floats, Mask, Measured, mean_of, part_score

RunLike = str | Path | Result | Results
"""A run folder, the id of a run, a result or several; or a folder of runs.

Also a file of per-query values of another harness (``value_files``), beside such files alone.
"""


def compare(
    runs: RunLike | Iterable[RunLike],
    metrics: Sequence[str] = (),
    baseline: RunLike | None = None,
    slices: Sequence[str] = (),
    *,
    by: Sequence[str] = (),
    resamples: int = stats.RESAMPLES,
    seed: int = 0,
    out: str | Path = "runs",
    notes: Sequence[str] = (),
    id_column: str | None = None,
    value_column: str | None = None,
    text_column: str | None = None,
) -> Comparison:
    """Compare stored runs on the same queries, each with the baseline.

    Args:
        runs: run folders, ids of runs under ``out``, results, or a folder of runs, of which the
            newest run of each system is compared; two runs at least.
        metrics: which metrics; all of them are tested, and p-values corrected for all tests.
            Default: the main ones of the task that all runs have, of which the first alone is
            tested and the others are descriptive.
        baseline: the run that the others are compared with; default: the first; of a folder of
            runs ``bm25`` if it is there, else the oldest.
        by: names of properties, as ``"difficulty"``: a part of each value.
        slices: conditions such as ``"difficulty=hard"`` or ``"gold_tables>1"``, which hold
            together; a name alone, as in ``"db_id"``, makes a part of each value.
        resamples: how many ways to swap a test draws at most.
        seed: of the random numbers.
        out: the folder of all runs.
        notes: what to say of the choice of the runs.
        id_column: of files with per-query values of other harnesses: the column of ids.
        value_column: of such files: the column of values.
        text_column: of such files: the column of texts, or of hashes of them; where ids agree and
            texts do not, the files are refused. Default: a column that is called as usual.

    Raises:
        ConfigError: fewer than two runs, an unknown run, metric or slice, or runs whose metric is
            not computed in one way.
        DataError: the runs are not of the same task, tables and queries.
        StoreError: a run is not finished, or damaged.
    """
    if resamples < 1:
        raise ConfigError(f"resamples={resamples}: expected a number from 1")
    if files := value_files_among(runs):
        columns = value_columns(files[0], id_column, value_column, text_column)
        if slices or by or metrics:
            raise ConfigError(
                "metrics, slices and by are for runs: files of values have one metric, named by "
                "--value, and no properties of queries"
            )
        other = None if baseline is None else Path(str(baseline))
        return compare_values(files, columns, other, (resamples, seed))
    if id_column or value_column or text_column:
        raise ConfigError("--id, --value and --text are for files of values, not for runs")
    folders, first, chosen = compared_runs(runs, baseline, out)
    scored = read_once([*folders, *([first] if first else [])], chosen)
    check_comparable(scored)
    compared, left_out = _metrics(scored, metrics)
    family, why = tuple(compared), None
    if not metrics:
        lead, why = leading_metric(scored, among=compared)
        family = (lead,)
        compared.sort(key=lambda metric: metric != lead)  # what is tested stands first
    place = [run.folder.resolve() for run in scored].index(first.resolve()) if first else 0
    base, by_name = scored[place], dict(zip(labels(scored), scored, strict=True))
    conditions = [slicing.parse(text) for text in slices] + [slicing.Slice(name) for name in by]
    check_same_slices(scored, [part.name for part in conditions], compared)
    parts = slicing.parts(base.slices, conditions, len(base.query_ids))
    specs = specs_of({name: base.scores[name] for name in compared})

    def rows_of(metrics: Sequence[str]) -> list[Row]:
        sides = {
            name: {m: (run.measured(m), run.scores[m]) for m in metrics}
            for name, run in by_name.items()
        }
        name = [*by_name][place]
        of_metrics, draws = dict.fromkeys(metrics, parts), (resamples, seed)
        return compared_rows(sides, name, of_metrics, specs, draws, base.databases)

    rows, n_tests = corrected(rows_of(compared), family)
    return Comparison(
        task=base.task,
        corpus=" + ".join([f"{base.corpus} {base.split}", *base.asked.distractors]),
        runs={name: run.folder for name, run in by_name.items()},
        baseline=[*by_name][place],
        resamples=resamples,
        seed=seed,
        family=family,
        n_tests=n_tests,
        rows=tuple(rows),
        notes=(
            *(*notes, *chosen, *left_out),
            *notes_on_runs(by_name, compared),
        ),
        specs={name: specs[name] for name in compared},
        remarks=(
            *([SYNTHETIC] if any(run.is_synthetic for run in scored) else []),
            *([f"{why}."] if why else []),
        ),
    )


# Which runs


def value_files_among(runs: RunLike | Iterable[RunLike]) -> list[Path]:
    """Return the files of per-query values, if it is such files that are named, or nothing.

    Raises:
        ConfigError: there are runs beside them.
    """
    named = [runs] if isinstance(runs, str) or not isinstance(runs, Sequence) else runs
    files = [Path(run) for run in named if isinstance(run, str | Path) and Path(run).is_file()]
    others = [run for run in named if not isinstance(run, str | Path) or not Path(run).is_file()]
    if files and others:
        missing = isinstance(others[0], str | Path) and not Path(others[0]).exists()
        raise ConfigError(
            f"{others[0] if missing else files[0]}: {'there is no such file; ' if missing else ''}"
            "files of values are compared with files alone, not with runs"
        )
    return files


def value_columns(
    path: Path, id_column: str | None, value_column: str | None, text_column: str | None
) -> ValueColumns:
    """Return the columns of files of values.

    Raises:
        ConfigError: no column of ids or of values is named.
    """
    if not id_column or not value_column:
        raise ConfigError(
            f"{path}: is a file; name its columns with --id and --value, as in --id question "
            "--value score (in Python id_column and value_column)"
        )
    return ValueColumns(id_column, value_column, text_column)


def named_runs(
    runs: RunLike | Iterable[RunLike], out: str | Path, shared: Shared = COMPARED
) -> tuple[list[Path], list[str]]:
    """Return the run folders that are named, and what to say of the choice among others.

    A folder of runs stands for the runs beside its newest one (``newest_runs``). A label, as
    ``bm25``, is a run of the newest data on which there are runs of all labels that are named.

    Args:
        runs: run folders, ids or labels of runs under ``out``, results, or folders of runs.
        out: the folder of all runs.
        shared: what the runs of a folder must have in common.

    Raises:
        ConfigError: there is no such run, or a value names none.
        StoreError: a folder of runs holds no finished one.
    """
    named = [runs] if isinstance(runs, str | Path | Result) else runs
    if not isinstance(named, Iterable):
        raise ConfigError(
            f"{runs!r:.100} names no run: expected a run folder, the id of a run or a result"
        )
    named = list(named)
    folders: list[Path] = []
    notes: list[str | None] = []
    beside: list[Path] = []
    labels_of = {run: labelled(run, Path(out)) for run in named if isinstance(run, str)}
    if any(len(of_label) > 1 for of_label in labels_of.values()):
        names = [name for name, of_label in labels_of.items() if of_label]
        beside, left_out = newest_runs(Path(out), shared, names)
        notes.append(left_out)
    for run in named:
        if isinstance(run, Result):
            folders.append(run.folder)
        elif not isinstance(run, str | Path):
            several, more = named_runs(run, out, shared)
            folders += several
            notes += more
        elif is_store(run):
            several, left_out = newest_runs(Path(run), shared)
            folders += several
            notes.append(left_out)
        else:
            of_label = [folder for folder in beside if folder in labels_of.get(str(run), ())]
            folders.append(of_label[0] if len(of_label) == 1 else find(run, Path(out)))
    return folders, [note for note in notes if note]


def compared_runs(
    runs: RunLike | Iterable[RunLike],
    baseline: RunLike | None,
    out: str | Path,
    of_corpora: bool = False,
) -> tuple[list[Path], Path | None, list[str]]:
    """Return the run folders to compare, that of a baseline if one is named, and notes on these.

    Args:
        runs: as for ``compare``.
        baseline: as for ``compare``.
        out: the folder of all runs.
        of_corpora: whether a folder of runs stands for runs on all its corpora.

    Raises:
        ConfigError: there is no such run, or several are named as the baseline.
    """
    named = [runs] if isinstance(runs, str | Path | Result) else runs
    named = list(named) if isinstance(named, Iterable) else named
    if of_corpora and len(named) == 1 and isinstance(named[0], str | Path) and is_store(named[0]):
        folders, left_out = newest_runs_of_corpora(Path(named[0]))
        notes = [left_out] if left_out else []
    else:
        folders, notes = named_runs(named, out)
    if baseline is not None:
        among = [folder for folder in folders if read_manifest(folder).asked.label == baseline]
        if len({read_manifest(folder).asked.corpus for folder in among}) == len(among):
            among = among[:1]  # of a method's runs on several corpora any names the method
        (first, *more), _ = (among, []) if len(among) == 1 else named_runs(baseline, out)
        if more:
            raise ConfigError(f"baseline={baseline!s:.200}: name one run, not {1 + len(more)}")
        return folders, first, notes
    if len(folders) > 1 and isinstance(named[0], str | Path) and is_store(named[0]):
        notes = [f"The baseline of a folder is {BASELINE_OF_FOLDER}; --baseline names it.", *notes]
    return folders, None, notes


def read_once(folders: Sequence[Path], notes: Sequence[str] = ()) -> list[Result]:
    """Return runs to compare, each once.

    Args:
        folders: their folders.
        notes: what an error says of the choice of the runs.

    Raises:
        ConfigError: there are fewer than two.
        StoreError: one has no scores, or cannot be read.
    """
    once = list({folder.resolve(): folder for folder in folders}.values())
    if len(once) < 2:
        named = f"a comparison needs two runs at least; named: {', '.join(map(str, once))}."
        raise ConfigError(" ".join([named, *notes]))
    scored = [read_run(folder) for folder in once]
    for run in scored:
        run.headline  # noqa: B018 (a run without scores is not compared)
    return scored


def check_comparable(runs: Sequence[Result]) -> None:
    """See that runs were asked the same queries about the same tables.

    Raises:
        DataError: they were not; the message names what differs.
    """
    check_same_data(
        runs,
        ("task", "corpus_fingerprint", "queries_fingerprint", "split"),
        "Only runs of the same task, tables and queries can be compared; run one of them again on "
        f"the other's data, or choose others: target-bench runs list --task {runs[0].task}",
    )
    first, *others = runs
    for other in others:
        if other.query_ids != first.query_ids:  # a metric of one's own may score more of them
            raise DataError(
                f"{first.folder} and {other.folder} are scored over different queries, "
                f"{len(first.query_ids):,} and {len(other.query_ids):,}, so they cannot be paired; "
                "score both with the same metrics (target-bench score RUN)"
            )


# Which metrics


def leading_metric(*groups: Sequence[Result], among: Sequence[str] = ()) -> tuple[str, str | None]:
    """Return the main metric, and why it cannot choose between runs (bounds left out), or None.

    Args:
        groups: the runs on each set of queries and tables; see ``scores.leading``.
        among: the metrics to choose from; default: all.

    Raises:
        StoreError: a run has no scores.
    """
    runs = [run for group in groups for run in group]
    for run in runs:
        run.headline  # noqa: B018 (a run without scores is told so)
    kept = [[run for run in group if not run.is_bound] for group in groups]
    scores = [
        [{name: s for name, s in run.scores.items() if not among or name in among} for run in group]
        for group in (list(filter(None, kept)) or [runs])
    ]
    return leading(*scores, n_tables=most_tables(runs))


def most_tables(runs: Iterable[Result]) -> int | None:
    """Return how many tables the runs ranked at most; None where one of them does not tell."""
    sizes = [run.manifest.corpus_tables for run in runs]
    return None if None in sizes else max(filter(None, sizes), default=None)


def _metrics(runs: Sequence[Result], chosen: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the metrics to compare, and what to say of those that are left out."""
    if chosen:
        names = list(dict.fromkeys(name for name in chosen))
        for metric in names:
            _check_signatures(runs, metric)
        return names, []
    kept, notes = [], []
    for metric in main_metrics(runs[0].scores):
        without = [run.folder.name for run in runs if metric not in run.scores]
        if without:
            have = "does not have it" if len(without) == 1 else "do not have it"
            notes.append(f"{metric} is left out: {', '.join(without)} {have}")
            continue
        try:
            _check_signatures(runs, metric)
            kept.append(metric)
        except ConfigError as error:
            notes.append(f"left out: {error}")
    if not kept:
        raise ConfigError(f"the runs have no metric in common: {'; '.join(notes)}")
    return kept, notes


def _check_signatures(runs: Sequence[Result], metric: str) -> None:
    for run in runs:
        run.measured(metric)
        mine, theirs = (definition(r.scores[metric].signature) for r in (runs[0], run))
        if mine != theirs:
            raise ConfigError(
                f"{metric} is not computed in one way: {mine} in {runs[0].folder.name}, {theirs} "
                f"in {run.folder.name}"
            )


# Notes


def notes_on_runs(runs: Mapping[str, Result], metrics: Sequence[str]) -> Iterator[str]:
    """Yield which answers cannot be read, which ties a cutoff divides, and what code changed."""
    for name, run in runs.items():
        if run.answer_counts and run.answer_counts.unparsed:
            yield (
                f"{name}: {run.answer_counts.unparsed:,} of {run.answer_counts.asked:,} answers "
                "cannot be read, and score 0"
            )
        if edited := run.note_on_edited(metrics):
            yield f"{name}: {edited}"
    cut = {name: run.counts for name, run in runs.items() if not run.has_answers}
    ties = [f"{n.cut:,} of {n.answered:,} of {name}" for name, n in cut.items() if n.cut]
    if ties:
        yield (
            f"a cutoff divides tables of equal score in rankings ({', '.join(ties)}); a hash of "
            "their ids decides which of them count"
        )


# Tests


Sides = Mapping[str, Mapping[str, tuple[Measured, Score | None]]]
"""Name of a run -> metric -> contribution of every query, and the stored score."""


def compared_rows(
    sides: Sides,
    baseline: str,
    parts: Mapping[str, Mapping[str, Mask]],
    specs: Mapping[str, MetricSpec],
    draws: tuple[int, int],
    databases: Sequence[str] = (),
) -> list[Row]:
    """Compare runs of ours, or of another harness, with one of them; p is not corrected yet.

    Args:
        sides: the runs.
        baseline: the name of that one.
        parts: metric -> name of a part -> (n,) which queries are in it.
        specs: the declaration of each metric.
        draws: how many ways to swap a test draws at most, and the seed.
        databases: (n,) the database of each query; empty where there are none.
    """
    rows = []
    for metric, masks in parts.items():
        for part, mask in masks.items():
            for name, side in sides.items():
                (measured, stored), (base, _) = side[metric], sides[baseline][metric]
                differs = None
                if name != baseline:
                    differs = _difference(measured, base, specs[metric], mask, draws, databases)
                if stored is None or not mask.all() or stats.SIGNATURE not in stored.signature:
                    stored = part_score(measured, mask, stored)
                bounds = (stored.value, stored.low, stored.high)
                row = Row(metric, part, stored.n, name, *bounds, differs)
                rows.append(_with_databases(row, measured, mask, databases))
    return rows


def _with_databases(row: Row, measured: Measured, mask: Mask, databases: Sequence[str]) -> Row:
    """Return a row with the interval of its score where the databases are a sample, too."""
    of_queries = [name for name, kept in zip(databases, mask, strict=False) if kept]
    if len(set(of_queries)) < 2 or np.isnan(row.score):
        return row
    statistics = measured.statistics[mask]
    low, high = stats.interval_by_cluster(measured.metric, statistics, of_queries)
    return replace(
        row,
        databases=len(set(of_queries)),
        score_low_by_database=low,
        score_high_by_database=high,
    )


def _test_by_database(
    difference: Difference,
    metric: Metric[Any],
    sides: tuple[Floats, Floats],
    databases: Sequence[str],
    draws: tuple[int, int],
) -> Difference:
    """Return a difference with interval and test where the databases are a sample, too."""
    if len(set(databases)) < 2:
        return difference
    low, high = stats.interval_of_difference_by_cluster(metric, *sides, databases)
    mine, theirs = (stats.sum_by_cluster(side, databases) for side in sides)
    p, _ = stats.randomization_test(mine, theirs, metric.value, *draws)
    return replace(difference, low_by_database=low, high_by_database=high, p_by_database=p)


def _difference(
    measured: Measured,
    base: Measured,
    spec: MetricSpec,
    mask: Mask,
    draws: tuple[int, int],
    databases: Sequence[str],
) -> Difference | None:
    metric, mine, theirs = measured.metric, measured.statistics[mask], base.statistics[mask]
    if any(np.isnan(score_of(metric, statistics)) for statistics in (mine, theirs)):
        return None
    paired = stats.compare(mine, theirs, metric.value, *draws)
    low, high = stats.interval_of_difference(metric, mine, theirs)
    values = measured.values[mask], base.values[mask]
    counts = stats.wins_ties_losses(*values)
    wins, ties, losses = counts if spec.higher_is_better else reversed(counts)
    difference = Difference(
        value=paired.difference,
        low=low,
        high=high,
        p=paired.p,
        p_corrected=None,
        exact=paired.exact,
        wins=wins,
        ties=ties,
        losses=losses,
        detectable=stats.detectable(metric, mine, theirs),
    )
    of_queries = [name for name, kept in zip(databases, mask, strict=False) if kept]
    return _test_by_database(difference, metric, (mine, theirs), of_queries, draws)


def corrected(rows: Sequence[Row], family: Sequence[str]) -> tuple[list[Row], int]:
    """Return rows with p-values corrected for all tests of some metrics (Holm), and their number.

    Rows of other metrics have no corrected p-value.
    """
    tested = [row for row in rows if row.difference and row.metric in family]
    p_values = _corrected_by_row(tested, "p")
    by_database = _corrected_by_row(tested, "p_by_database")
    with_p = []
    for row in rows:
        if row.difference is not None:
            difference = replace(
                row.difference,
                p_corrected=p_values.get(id(row)),
                p_by_database_corrected=by_database.get(id(row)),
            )
            row = replace(row, difference=difference)
        with_p.append(row)
    return with_p, len(tested)


def _corrected_by_row(rows: Sequence[Row], field: str) -> dict[int, float]:
    """Return the identity of a row -> its p-value corrected by Holm, where it has one."""
    of_rows = {id(row): getattr(row.difference, field) for row in rows}
    known = {row: p for row, p in of_rows.items() if p is not None}
    return dict(zip(known, stats.holm([*known.values()]), strict=True))


# Per-query values of other harnesses

HAS_VALUE = "queries with a value"
"""The metric that a gate adds where the run lacks values that the baseline has."""


def compare_values(
    paths: Sequence[Path],
    columns: ValueColumns,
    baseline: Path | None = None,
    draws: tuple[int, int] = (stats.RESAMPLES, 0),
    misses: Literal["<", ">"] | None = None,
) -> Comparison:
    """Compare the means of per-query values that other harnesses wrote.

    Args:
        paths: the files.
        columns: which columns hold ids, values and texts.
        baseline: the file that the others are compared with; default: the first.
        draws: how many ways to swap a test draws at most, and the seed.
        misses: for a gate: which values are worse. A query that the baseline has a value of and
            another file lacks then counts as the worst value, and ``HAS_VALUE`` is compared too.
            Without it, only queries with a value in all files are compared.

    Raises:
        ConfigError: fewer than two files, an unknown column, or no worst value is known.
        DataError: a file is damaged, or nothing can be paired.
    """
    files = read_value_files([*paths, *([baseline] if baseline else [])], columns)
    if len(files) < 2:
        raise ConfigError(f"a comparison needs two files at least; named: {paths[0]}")
    candidates = [
        [file.path.stem for file in files],
        [file.path.resolve().parent.name for file in files],  # lm-eval: a folder a model
        [str(file.path) for file in files],
    ]
    names = next(each for each in candidates if len({*each}) == len(each))
    named = dict(zip(names, files, strict=True))
    base = next(name for name, file in named.items() if baseline in (None, file.path))
    known = {
        name: {query for query, value in file.values.items() if not isnan(value)}
        for name, file in named.items()
    }
    asked = {query for file in files for query in file.values}
    paired = known[base] if misses else set.intersection(*known.values())
    order = [query for query in named[base].values if query in paired]
    if not order:
        few = (f"{name} has {', '.join(list(f.values)[:3])}" for name, f in named.items())
        raise DataError(
            f"the files have no query with a value in common, so nothing can be paired: "
            f"{'; '.join(few)}. Name the column of ids with --id"
        )
    values = {
        name: np.array([file.values.get(query, nan) for query in order])
        for name, file in named.items()
    }
    metric, notes = columns.value, []
    lacking = {name: int(np.isnan(column).sum()) for name, column in values.items()}
    specs = {metric: _spec_of_values(metric, list(values.values()))}
    measured = dict(values)
    if any(lacking.values()):
        worst = _worst_value(misses, list(values.values()), specs[metric])
        measured = {name: np.nan_to_num(column, nan=worst) for name, column in values.items()}
        shown = specs[metric].text(worst)
        notes = [
            f"{n:,} of {len(order):,} queries that {base} has a value of have none in {name}: each "
            f"counts as {shown}"
            for name, n in lacking.items()
            if n
        ]
        specs[HAS_VALUE] = MetricSpec("queries_with_a_value", label=HAS_VALUE)
    whole: Mask = np.ones(len(order), dtype=np.bool_)
    sides: dict[str, dict[str, tuple[Measured, Score | None]]] = {
        name: {
            metric: (mean_of(metric, column, specs[metric]), None),
            **(
                {HAS_VALUE: (_has_value(values[name], specs[HAS_VALUE]), None)}
                if HAS_VALUE in specs
                else {}
            ),
        }
        for name, column in measured.items()
    }
    parts = {name: {"": whole} for name in specs}
    rows, n_tests = corrected(compared_rows(sides, base, parts, specs, draws), list(specs))
    of = f" of {len(asked):,}" if len(order) < len(asked) else ""
    return Comparison(
        task="values of queries",
        corpus=f"n = {len(order):,}{of}",
        runs={name: file.path for name, file in named.items()},
        baseline=base,
        resamples=draws[0],
        seed=draws[1],
        family=tuple(specs),
        n_tests=n_tests,
        rows=tuple(rows),
        notes=tuple(notes),
        specs=specs,
        own_means={name: file.mean for name, file in named.items()},
    )


def _worst_value(misses: str | None, values: Sequence[Floats], spec: MetricSpec) -> float:
    """Return what a missing value counts as in a gate.

    Raises:
        ConfigError: lower is better, and nothing says how high a value may be.
    """
    if misses == "<":
        return float(min(0.0, np.nanmin(np.concatenate(values))))
    if spec.scale == "unbounded":
        raise ConfigError(
            f"the run lacks values that the baseline has, and how bad a missing {spec.label} is "
            "cannot be known: give these queries a value, or leave them out of both files"
        )
    return spec.top


def _has_value(values: Floats, spec: MetricSpec) -> Measured:
    return mean_of(HAS_VALUE, (~np.isnan(values)).astype(np.float64), spec)


def _spec_of_values(name: str, values: Sequence[Floats]) -> MetricSpec:
    """Declare a metric of another harness by the values that it has."""
    known = np.concatenate(values)
    highest = float(np.nanmax(known))
    plain = re.sub(r"[\s@]+", "_", name) or "metric"
    if highest <= 1 and float(np.nanmin(known)) >= 0:
        return MetricSpec(plain, label=name)
    return MetricSpec(plain, label=name, scale="unbounded", highest=highest)
