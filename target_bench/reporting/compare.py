"""``compare``: which runs, which metrics, and the rows that they make."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.text_tables import count_noun
from target_bench.metrics.scores import (
    canonical_name,
    choose_metric_between_runs,
    definition,
    list_main_metrics,
)
from target_bench.reporting.rows import Comparison, Row, Values, correct, make_rows
from target_bench.reporting.value_files import choose_columns, compare_values
from target_bench.runs import slicing
from target_bench.runs.differences import (
    check_same_data,
    check_same_slices,
    describe_method,
    make_labels,
)
from target_bench.runs.find import find_run, find_runs_by_label, is_folder_of_runs
from target_bench.runs.manifest import read_manifest
from target_bench.runs.newest import (
    BASELINE_OF_FOLDER,
    COMPARED,
    find_newest_runs,
    find_newest_runs_of_corpora,
)
from target_bench.runs.result import SYNTHETIC, Result, Results, read_main_metric, read_run
from target_bench.runs.score_tables import describe_edited, is_sampled, list_databases
from target_bench.runs.slicing import read_metric

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
    out: str | Path = "runs",
    id_column: str | None = None,
    value_column: str | None = None,
) -> Comparison:
    """Compare stored runs on the same queries, each with the baseline.

    ```python
    from target_bench import compare, evaluate

    evaluate(["bm25", "tfidf"], "mini")
    print(compare(["bm25", "tfidf"]))
    # recall@10 · retrieval, mini test
    # ...
    # bm25   .982 [.961, .992]
    # tfidf  .936 [.903, .959]  -.046*** [-.077, -.020]  < .001  2/259/19
    # ...
    ```

    Runs on several corpora are compared on each of them: methods × corpora, all tests corrected
    together. Runs of one method have the same name, or else the same retriever and generator with
    the same settings.

    Args:
        runs: run folders, ids of runs under ``out``, results, or a folder of runs, of which the
            newest run of each system is compared; two runs at least.
        metrics: which metrics; all of them are tested, and p-values corrected for all tests.
            Default: the main ones of the task that all runs have, of which only the first is
            tested and the others are descriptive.
        baseline: the run that the others are compared with; default: the first; of a folder of
            runs ``bm25`` if it is there, else the oldest.
        slices: conditions such as ``"difficulty=hard"`` or ``"gold_tables>1"``, which hold
            together; a name alone, as in ``"db_id"``, makes a part of each value.
        by: names of properties, as ``"difficulty"``: a part of each value.
        out: the folder of all runs.
        id_column: of files with per-query values of other harnesses: the column of ids.
        value_column: of such files: the column of values.

    Raises:
        ConfigError: fewer than two runs, an unknown run, metric or slice, two runs of one method
            on one corpus, a corpus without the baseline, or runs whose metric is not computed in
            one way.
        DataError: the runs are not of the same task, or those on one corpus not of the same tables
            and queries.
        StoreError: a run is not finished, or damaged.
    """
    files = [runs] if isinstance(runs, str) or not isinstance(runs, Sequence) else runs
    columns = choose_columns(files, id_column, value_column, [*slices, *by, *metrics])
    if columns is not None:
        return compare_values(files, columns, baseline)
    folders, first, notes = choose_runs(runs, baseline, out, several_corpora=not (slices or by))
    stored = _read_runs([*folders, *([first] if first else [])], notes)
    base = stored[[run.folder.resolve() for run in stored].index(first.resolve()) if first else 0]
    return compare_results(stored, metrics, base, slices, by=by, notes=notes)


def compare_results(
    runs: Sequence[Result],
    metrics: Sequence[str],
    base: Result,
    slices: Sequence[str] = (),
    *,
    by: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Comparison:
    """Compare runs that were chosen; arguments and errors as for ``compare``."""
    groups = _group_by_corpus(runs)
    # Where each group has one run, no group can be compared by itself: then all runs have to be on
    # one set, and ``check_comparable`` raises the error that says in what they differ.
    has_no_pairs = all(len(group) == 1 for group in groups.values())
    if has_no_pairs or _are_on_one_set(runs):
        check_comparable(runs)
        groups = {corpus_name(base): list(runs)}
    elif slices or by:
        raise ConfigError("--slice and --by (in Python slices and by): name the runs of one corpus")
    for run in runs:
        if run.identity.task != runs[0].identity.task:
            check_comparable([runs[0], run])  # raises the error of different tasks
    names = _name_systems(groups)
    baseline = names[base.folder]
    systems = {
        corpus: _map_systems(corpus, group, names, baseline) for corpus, group in groups.items()
    }
    for group in groups.values():
        check_comparable(group)
    compared, left_out = _choose_metrics(list(groups.values()), metrics)
    tested, why = tuple(compared), None
    if not metrics:
        lead, why = leading_metric(*groups.values(), among=compared)
        tested = (lead,)
        compared.sort(key=lambda metric: metric != lead)  # what is tested stands first
    conditions = [*map(slicing.parse_condition, slices), *map(slicing.Condition, by)]
    rows: list[Row] = []
    for corpus, by_name in systems.items():
        whole = by_name[baseline]
        check_same_slices([*by_name.values()], [part.name for part in conditions], compared)
        values = {
            name: {m: Values(read_metric(run, m), run.stored.scores[m]) for m in compared}
            for name, run in by_name.items()
        }
        subsets = slicing.select_parts(
            whole.per_query.properties, conditions, len(whole.per_query.ids)
        )
        rows += make_rows(corpus, values, baseline, subsets, list_databases(whole))
    rows = correct(rows, tested)
    rows.sort(key=lambda row: compared.index(row.metric))
    synthetic = [
        corpus for corpus, group in groups.items() if any(r.per_query.are_synthetic for r in group)
    ]
    remarks = [f"{why}."] if why else []
    if len(systems) == 1 and is_sampled(base):  # several corpora name the limit in their columns
        n = count_noun(base.stored.n_queries, "query")
        remarks.insert(0, f"The scores are over a sample of {n} (--limit).")
    for corpus, by_name in systems.items():
        where = "" if len(systems) == 1 else f"{corpus}: "
        for name, run in by_name.items():
            if n_failed := run.stored.n_failed:
                of_all = count_noun(run.stored.n_queries, "query")
                remarks.append(f"{where}{name} failed on {n_failed:,} of {of_all}, scored 0.")
    if synthetic:
        where = "" if len(groups) == 1 else f"{', '.join(synthetic)}: "
        remarks.insert(0, f"{where}{SYNTHETIC}")
    return Comparison(
        task=base.identity.task,
        corpora=tuple(groups),
        systems=tuple(dict.fromkeys(names.values())),
        baseline=baseline,
        tested=tested,
        rows=tuple(rows),
        folders={
            (corpus, name): run.folder
            for corpus, by_name in systems.items()
            for name, run in by_name.items()
        },
        notes=(*notes, *left_out, *_describe_runs(systems, compared)),
        remarks=tuple(remarks),
    )


# Which runs


def choose_runs(
    runs: RunLike | Iterable[RunLike],
    baseline: RunLike | None,
    out: str | Path,
    several_corpora: bool = False,
) -> tuple[list[Path], Path | None, list[str]]:
    """Return the run folders to compare, that of a baseline if one is named, and notes on these."""
    named: Any = [runs] if isinstance(runs, str | Path | Result) else runs
    named = list(named) if isinstance(named, Iterable) else named
    first_named = named[0] if isinstance(named, list) and named else None
    is_folder = isinstance(first_named, str | Path) and is_folder_of_runs(first_named)
    if several_corpora and is_folder and len(named) == 1:
        folders, left_out = find_newest_runs_of_corpora(Path(str(first_named)))
        notes = [left_out] if left_out else []
    else:
        folders, notes = find_runs(named, out)
    if baseline is None:
        if len(folders) > 1 and is_folder:
            rule = f"The baseline of a folder is {BASELINE_OF_FOLDER}; --baseline names it."
            notes = [rule, *notes]
        return folders, None, notes
    among = [folder for folder in folders if read_manifest(folder).command.label == baseline]
    if len({read_manifest(folder).command.corpus for folder in among}) == len(among):
        among = among[:1]  # of a method's runs on several corpora any names the method
    (first, *more), _ = (among, []) if len(among) == 1 else find_runs(baseline, out)
    if more:
        raise ConfigError(f"baseline={baseline!s:.200}: name one run, not {1 + len(more)}")
    return folders, first, notes


def find_runs(
    runs: RunLike | Iterable[RunLike], out: str | Path, shared: Sequence[str] = COMPARED
) -> tuple[list[Path], list[str]]:
    """Return the run folders that are named, and notes on the runs that were left out.

    Of a folder of runs the newest ones are taken (``find_newest_runs``). Of the runs with a label,
    as ``bm25``, the one on the newest data on which there are runs of all labels is taken.
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
    labels_of = {run: find_runs_by_label(run, Path(out)) for run in named if isinstance(run, str)}
    if any(len(of_label) > 1 for of_label in labels_of.values()):
        names = [name for name, of_label in labels_of.items() if of_label]
        beside, left_out = find_newest_runs(Path(out), shared, names)
        notes.append(left_out)
    for run in named:
        if isinstance(run, Result):
            folders.append(run.folder)
        elif not isinstance(run, str | Path):
            several, more = find_runs(run, out, shared)
            folders += several
            notes += more
        elif is_folder_of_runs(run):
            several, left_out = find_newest_runs(Path(run), shared)
            folders += several
            notes.append(left_out)
        else:
            of_label = [folder for folder in beside if folder in labels_of.get(str(run), ())]
            folders.append(of_label[0] if len(of_label) == 1 else find_run(run, Path(out)))
    return folders, [note for note in notes if note]


def _read_runs(folders: Sequence[Path], notes: Sequence[str] = ()) -> list[Result]:
    """Read runs to compare, each once; an error repeats the notes on their choice."""
    once = list({folder.resolve(): folder for folder in folders}.values())
    if len(once) < 2:
        named = f"a comparison needs two runs at least; named: {', '.join(map(str, once))}."
        raise ConfigError(" ".join([named, *notes]))
    stored = [read_run(folder) for folder in once]
    for run in stored:
        read_main_metric(run)
    return stored


def check_comparable(runs: Sequence[Result]) -> None:
    """Check that runs were asked the same queries about the same tables."""
    check_same_data(
        runs,
        ("task", "corpus_fingerprint", "queries_fingerprint", "split"),
        "Only runs of the same task, tables and queries can be compared; run one of them again on "
        "the other's data, or choose others: target-bench runs list --task "
        f"{runs[0].identity.task}",
    )
    first, *others = runs
    for other in others:
        if (
            other.per_query.ids != first.per_query.ids
        ):  # a metric of one's own may score more of them
            raise DataError(
                f"{first.folder} and {other.folder} are scored over different queries, "
                f"{len(first.per_query.ids):,} and {len(other.per_query.ids):,}, so they cannot be "
                "paired; score both with the same metrics (target-bench score RUN)"
            )


def corpus_name(run: Result) -> str:
    """Return corpus and split of a run, with its distractors."""
    return " + ".join([run.identity.data, *run.command.distractors])


def _are_on_one_set(runs: Sequence[Result]) -> bool:
    """Return whether all runs were asked the same queries over the same tables.

    Corpora of other names and equal content count as one, unless a system ran on several of them:
    then its runs are compared corpus by corpus.
    """
    identities = [run.identity for run in runs]
    same = len({(i.split, i.corpus_fingerprint, i.queries_fingerprint) for i in identities}) == 1
    one_corpus = len({corpus_name(run) for run in runs}) == 1
    return same and (one_corpus or len({run.command.label for run in runs}) == len(runs))


def _group_by_corpus(runs: Sequence[Result]) -> dict[str, list[Result]]:
    """Group runs by corpus, split, distractors, and the part of the queries that was asked."""
    groups: dict[str, list[Result]] = {}
    for run in runs:
        chosen = {"about": run.command.about, "limit": run.command.limit}
        more = [f"{name} {value}" for name, value in chosen.items() if value is not None]
        groups.setdefault(", ".join([corpus_name(run), *more]), []).append(run)
    return groups


def _name_systems(groups: Mapping[str, Sequence[Result]]) -> dict[Path, str]:
    """Return run folder -> what its system is called on all corpora."""
    runs = [run for group in groups.values() for run in group]
    if len(groups) == 1:
        return dict(zip([run.folder for run in runs], make_labels(runs), strict=True))
    first: dict[tuple[str, ...], Result] = {}
    for run in runs:
        first.setdefault(describe_method(run), run)
    names = dict(zip(first, make_labels(list(first.values())), strict=True))
    return {run.folder: names[describe_method(run)] for run in runs}


def _map_systems(
    corpus: str, group: Sequence[Result], names: Mapping[Path, str], baseline: str
) -> dict[str, Result]:
    systems: dict[str, Result] = {}
    for run in group:
        name = names[run.folder]
        other = systems.setdefault(name, run)
        if other is not run:
            raise ConfigError(
                f"{other.folder.name} and {run.folder.name} are both runs of {name} on {corpus}; "
                "leave one out, or give them names"
            )
    if baseline not in systems:
        raise ConfigError(
            f"no run of {baseline}, the baseline, is on {corpus}: run it there, name another run "
            "with --baseline, or leave this corpus out"
        )
    return systems


# Which metrics


def leading_metric(*groups: Sequence[Result], among: Sequence[str] = ()) -> tuple[str, str | None]:
    """Return the main metric, and why it cannot choose between runs (bounds left out), or None."""
    runs = [run for group in groups for run in group]
    for run in runs:
        read_main_metric(run)
    systems = [[run for run in group if not run.identity.is_bound] for group in groups]
    scores = [
        [
            {name: s for name, s in run.stored.scores.items() if not among or name in among}
            for run in group
        ]
        for group in (list(filter(None, systems)) or [runs])
    ]
    return choose_metric_between_runs(*scores, n_tables=count_tables(runs))


def count_tables(runs: Iterable[Result]) -> int | None:
    """Return how many tables the runs ranked at most; None where one of them does not tell."""
    sizes = [run.run.manifest.corpus_tables for run in runs]
    return None if None in sizes else max(filter(None, sizes), default=None)


def _choose_metrics(
    groups: Sequence[Sequence[Result]], chosen: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the metrics to compare, and what to say of those that are left out."""
    runs = [run for group in groups for run in group]
    if chosen:
        names = list(dict.fromkeys(map(canonical_name, chosen)))
        for metric in names:
            _check_signatures(groups, metric)
        return names, []
    kept, notes = [], []
    for metric in list_main_metrics(runs[0].stored.scores):
        without = [run.folder.name for run in runs if metric not in run.stored.scores]
        if without:
            have = "does not have it" if len(without) == 1 else "do not have it"
            notes.append(f"{metric} is left out: {', '.join(without)} {have}")
            continue
        try:
            _check_signatures(groups, metric)
            kept.append(metric)
        except ConfigError as error:
            notes.append(f"left out: {error}")
    if not kept:
        raise ConfigError(
            f"the runs have no metric in common ({'; '.join(notes)}); name some with --metric"
        )
    return kept, notes


def _check_signatures(groups: Sequence[Sequence[Result]], metric: str) -> None:
    for group in groups:
        for run in group:
            read_metric(run, metric)  # an unknown metric is reported before any test
            mine, theirs = (definition(r.stored.scores[metric].signature) for r in (group[0], run))
            if mine != theirs:
                raise ConfigError(
                    f"{metric} is not computed in one way: {mine} in {group[0].folder.name}, "
                    f"{theirs} in {run.folder.name}"
                )


# Notes


def _describe_runs(
    systems: Mapping[str, Mapping[str, Result]], metrics: Sequence[str]
) -> Iterator[str]:
    """Say what was not run or read, which ties a cutoff divides, and which code changed."""
    names = dict.fromkeys(name for group in systems.values() for name in group)
    for name in names:
        absent = [corpus for corpus, group in systems.items() if name not in group]
        if absent:
            yield f"{name} was not run on {', '.join(absent)}"
    runs = {
        name if len(systems) == 1 else f"{name} on {corpus}": run
        for corpus, group in systems.items()
        for name, run in group.items()
    }
    for name, run in runs.items():
        if run.stored.answers and run.stored.answers.unparsed:
            yield (
                f"{name}: {run.stored.answers.unparsed:,} of {run.stored.answers.asked:,} answers "
                "cannot be read, and score 0"
            )
        if edited := describe_edited(run, metrics):
            yield f"{name}: {edited}"
    cut = {name: run.stored.counts for name, run in runs.items() if not run.identity.has_answers}
    ties = [
        f"{n.divided_ties:,} of {n.answered:,} of {name}"
        for name, n in cut.items()
        if n.divided_ties
    ]
    if ties:
        yield (
            f"a cutoff divides tables of equal score in rankings ({', '.join(ties)}); a hash of "
            "their ids decides which of them count"
        )
