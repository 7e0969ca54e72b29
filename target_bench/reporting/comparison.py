"""A comparison of runs as a value, and as text, Markdown or LaTeX."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from math import isnan
from pathlib import Path
from typing import Any

from target_bench.core import text_tables
from target_bench.core.metric import MetricSpec, Score
from target_bench.core.text_tables import Column, TextTable, counted, p_text
from target_bench.metrics.scores import spec_of
from target_bench.metrics.stats import ALPHA, FEWEST, POWER

_NAMED = 4


@dataclass(frozen=True, slots=True)
class Difference:
    """A run less the baseline, on the same queries.

    Attributes:
        value: the difference of the scores.
        low: lower bound of its 95% interval.
        high: upper bound.
        p: two-sided p-value of this test alone.
        p_corrected: the same, corrected for all tests of the family (Holm); None for a metric that
            is not in it.
        exact: whether the p-value is over all swaps and not over sampled ones.
        wins: queries on which the run has a better value than the baseline, a lower one where lower
            is better.
        ties: those with equal values.
        losses: those with a worse one.
        detectable: the smallest difference that as many queries are likely to show
            (``stats.detectable``); None where there are too few to show any.
        low_by_database: lower bound of its 95% interval where the databases are a sample, too;
            None where the tables are in no databases.
        high_by_database: upper bound.
        p_by_database: of the test that swaps all answers to the questions of a database at once.
        p_by_database_corrected: the same, corrected for all tests of the family.
    """

    value: float
    low: float
    high: float
    p: float
    p_corrected: float | None
    exact: bool
    wins: int
    ties: int
    losses: int
    detectable: float | None = None
    low_by_database: float | None = None
    high_by_database: float | None = None
    p_by_database: float | None = None
    p_by_database_corrected: float | None = None

    @property
    def marker(self) -> str:
        """``*``, ``**`` or ``***`` for a corrected p below 0.05, 0.01 or 0.001."""
        if self.p_corrected is None:
            return ""
        return "*" * sum(self.p_corrected < level for level in (0.05, 0.01, 0.001))


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one run over one part of the queries.

    Attributes:
        metric: its name.
        slice: which queries; empty for all.
        n: how many queries the metric is over.
        run: what the run is called in this comparison.
        score: the metric; NaN over no query.
        low: lower bound of its 95% interval.
        high: upper bound.
        difference: from the baseline; None for the baseline itself, and over no query.
        databases: how many databases the queries are about; None where they are about none or one.
        score_low_by_database: lower bound of the score's 95% interval where the databases are a
            sample, too.
        score_high_by_database: upper bound.
    """

    metric: str
    slice: str
    n: int
    run: str
    score: float
    low: float
    high: float
    difference: Difference | None
    databases: int | None = None
    score_low_by_database: float | None = None
    score_high_by_database: float | None = None

    @property
    def is_undecided(self) -> bool:
        """Whether the test did not tell the run from the baseline."""
        return self.difference is not None and (self.difference.p_corrected or 0) >= ALPHA

    def to_json(self) -> dict[str, Any]:
        """Field name -> value; NaN is None, because JSON has no NaN."""
        record = asdict(self)
        for part in (record, record["difference"] or {}):
            part |= {name: None for name, value in part.items() if value != value}
        return record


def flat_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON of a row, or of a check of a gate, without nesting.

    What belongs to the difference is called as in ``Difference``, but ``difference``,
    ``difference_low`` and ``difference_high`` for its value and interval: ``low`` and ``high`` are
    those of the score.
    """
    differs = record["difference"] or dict.fromkeys(Difference.__dataclass_fields__)
    names = {"value": "difference", "low": "difference_low", "high": "difference_high"}
    flat = {name: value for name, value in record.items() if name != "difference"}
    return flat | {names.get(name, name): value for name, value in differs.items()}


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """Runs side by side; prints as a table.

    Attributes:
        task: short name of the task.
        corpus: name and split, with distractors.
        runs: what each run is called -> its folder; in the order they were named.
        baseline: what the baseline is called.
        test: the paired test.
        resamples: how many ways to swap a test drew at most.
        seed: of the random numbers.
        family: the metrics whose p-values are corrected for each other; the others are
            descriptive.
        n_tests: how many tests of these metrics there are: what p-values are corrected for.
        rows: by metric, then slice, then run.
        notes: what a reader should know.
        specs: the declaration of each metric.
        remarks: what a reader must know, however short the table is printed.
        own_means: of files of values: what each is called -> the mean of all its own values, and
            how many these are.
    """

    task: str
    corpus: str
    runs: Mapping[str, Path]
    baseline: str
    test: str = field(init=False, default="randomization")
    resamples: int
    seed: int
    family: tuple[str, ...]
    n_tests: int
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    specs: Mapping[str, MetricSpec] = field(default_factory=dict)
    own_means: Mapping[str, tuple[float, int]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def spec(self, metric: str) -> MetricSpec:
        """Return the declaration of a metric."""
        return self.specs.get(metric) or spec_of(metric)

    @property
    def by_itself(self) -> str:
        """The mean of each file of values, over all that it has."""
        spec = self.spec(self.family[0])
        means = (
            f"{name} {spec.text(mean)} (n = {n:,})" for name, (mean, n) in self.own_means.items()
        )
        return f"Mean of each file by itself: {', '.join(means)}"

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``target-bench compare --json`` prints."""
        return asdict(self) | {
            "runs": {name: str(path) for name, path in self.runs.items()},
            "rows": [row.to_json() for row in self.rows],
            "specs": {name: spec.to_json() for name, spec in self.specs.items()},
            "own_means": {
                name: {"mean": None if isnan(mean) else mean, "n": n}
                for name, (mean, n) in self.own_means.items()
            },
        }

    def to_records(self) -> list[dict[str, Any]]:
        """Return a record without nesting for each row, with the baseline and the test."""
        more = {"baseline": self.baseline, "test": self.test}
        records = [flat_record(row.to_json()) | more for row in self.rows]
        for record in records if self.own_means else ():
            if record["metric"] == self.family[0]:
                record["own_mean"], record["own_n"] = self.own_means[record["run"]]
        return records

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from target_bench.core.html_view import html

        return html(_tables(self), legend(self))

    def __str__(self) -> str:
        return text(self)


def text(comparison: Comparison, width: int | None = None, colours: bool = False) -> str:
    """One table per metric, and what the markers mean.

    Args:
        comparison: what is shown.
        width: columns of the terminal; None for no limit.
        colours: whether the terminal has colours.
    """
    tables = text_tables.text(_tables(comparison), width, colours)
    below = [part for line in legend(comparison) for part in text_tables.wrapped(line, width)]
    return "\n".join([tables, "", *below])


def _tables(comparison: Comparison) -> list[TextTable]:
    """Return a table for each tested metric, then the scores of the others beside each other."""
    rows = groupby(comparison.rows, key=lambda row: row.metric)
    by_metric = {metric: list(of_metric) for metric, of_metric in rows}
    others = [metric for metric in by_metric if metric not in comparison.family]
    beside = [others[i : i + _BESIDE] for i in range(0, len(others), _BESIDE)]
    tested = [name for name in by_metric if name not in others]
    return [
        *(_table(comparison, name, by_metric[name]) for name in tested),
        *(
            _by_database(comparison, name, by_metric[name])
            for name in tested
            if any(row.databases for row in by_metric[name])
        ),
        *(_scores(comparison, {name: by_metric[name] for name in names}) for names in beside),
    ]


_BESIDE = 3
"""Metrics beside each other, with their intervals, in a terminal of 80 columns."""


def _scores(comparison: Comparison, by_metric: Mapping[str, Sequence[Row]]) -> TextTable:
    """Lay out metrics that are not tested: a row a run, a column a metric."""
    from target_bench.runs.result import metric_column, score_cell

    specs = {name: comparison.spec(name) for name in by_metric}
    rows = []
    for of_run in zip(*by_metric.values(), strict=True):
        scores = [Score(r.score, r.low, r.high, r.n, "", specs[r.metric]) for r in of_run]
        cells = map(score_cell, by_metric, scores)
        rows.append([*filter(None, [of_run[0].slice]), of_run[0].run, *cells])
    sliced = len(rows[0]) > 1 + len(by_metric)
    columns = [
        *([Column("slice")] if sliced else []),
        Column("run"),
        *map(metric_column, by_metric),
    ]
    low = [name for name, spec in specs.items() if not spec.higher_is_better]
    lower = f" · lower is better: {', '.join(low)}" if low else ""
    title = f"not tested · {comparison.task}, {comparison.corpus}{lower}"
    return TextTable(columns, rows, title)


def _table(comparison: Comparison, metric: str, rows: Sequence[Row]) -> TextTable:
    spec, first = comparison.spec(metric), 0 if rows[0].slice else 2
    return TextTable(
        _COLUMNS[first:],
        [_cells(row, spec)[first:] for row in rows],
        f"{metric} · {comparison.task}, {comparison.corpus}"
        + " · lower is better" * (not spec.higher_is_better),
        frozenset(i for i in range(1, len(rows)) if rows[i].slice != rows[i - 1].slice),
        marks={
            (i, 5 - first): "good" if spec.merit(row.difference.value) > 0 else "bad"
            for i, row in enumerate(rows)
            if row.difference is not None and row.difference.marker
        },
    )


def _by_database(comparison: Comparison, metric: str, rows: Sequence[Row]) -> TextTable:
    """Lay out intervals and tests where the databases are a sample, too."""
    spec, sliced = comparison.spec(metric), bool(rows[0].slice)
    lines = []
    for row in rows:
        low, high = row.score_low_by_database, row.score_high_by_database
        cells = [row.slice] * sliced + [row.run, f"{row.databases or ''}"]
        cells.append("" if low is None or high is None else spec.interval(low, high))
        of = row.difference
        if of is None or of.low_by_database is None or of.high_by_database is None:
            cells += ["", ""]
        else:
            cells.append(spec.interval(of.low_by_database, of.high_by_database, " to ", "+"))
            p = of.p_by_database_corrected
            cells.append("" if p is None else p_text(p))
        lines.append(cells)
    columns = [
        *([Column("slice")] if sliced else []),
        Column("run"),
        Column("databases", right=True),
        Column("95%", right=True, label="95% of the score"),
        Column("95% of difference", right=True, label="95% of the difference"),
        Column("p", right=True),
    ]
    return TextTable(columns, lines, f"{metric} · for questions about other databases, too")


_COLUMNS = (
    Column("slice"),
    Column("n", right=True),
    Column("run"),
    Column("score", right=True),
    Column("95%", right=True, below=True, label="95% of the score"),
    Column("difference", right=True),
    Column("95%", right=True, below=True, label="95% of the difference"),
    Column("p", right=True),
    Column("W/T/L", right=True),
)


def _cells(row: Row, spec: MetricSpec) -> list[str]:
    cells = [row.slice, f"{row.n:,}", row.run, spec.text(row.score)]
    cells.append("" if isnan(row.low) else spec.interval(row.low, row.high))
    difference = row.difference
    if difference is None:
        return cells + [""] * 4
    counts = difference.wins, difference.ties, difference.losses
    return [
        *cells,
        f"{spec.text(difference.value, signed=True)}{difference.marker}",
        spec.interval(difference.low, difference.high, " to ", "+"),
        "" if difference.p_corrected is None else p_text(difference.p_corrected),
        "{}/{}/{}".format(*counts),
    ]


def legend(comparison: Comparison) -> list[str]:
    """Return the name of the tests, and how to read the table."""
    tests = counted(comparison.n_tests, "test")
    family = ", ".join(comparison.family)
    lines = [
        f"Differences from {comparison.baseline}; paired randomisation test, two-sided, "
        f"{comparison.resamples:,} samples, seed {comparison.seed}; p corrected for {tests} of "
        f"{family} (Holm): * < .05, ** < .01, *** < .001. W/T/L: queries won, tied and lost."
    ]
    if any(row.databases for row in comparison.rows):
        lines.append(
            "The first intervals and p-values are about questions on these databases; those for "
            "other databases take the databases as a sample, too (docs/significance.md)."
        )
    lines += power_of_tests(comparison.rows, comparison.family, comparison.specs)
    if comparison.own_means:
        lines.append(f"{comparison.by_itself}.")
    if any(row.metric not in comparison.family for row in comparison.rows):
        lines.append(
            f"{family} is tested. Name metrics with --metric to test each of them: p is then "
            "corrected for all of these tests."
        )
    return [*comparison.remarks, *lines, *(f"Note: {note}" for note in comparison.notes)]


def power_of_tests(
    rows: Sequence[Row], family: Sequence[str], specs: Mapping[str, MetricSpec]
) -> Iterator[str]:
    """Yield ``power`` of the tests of each metric of a family."""
    for metric in family:
        tested = [
            (row.n, row.difference.detectable)
            for row in rows
            if row.metric == metric and row.difference is not None
        ]
        if tested:
            yield f"{metric}: {power(tested, specs[metric])}"


def power(tested: Sequence[tuple[int, float | None]], spec: MetricSpec) -> str:
    """Say which differences the queries are likely to show; empty where nothing is tested.

    Args:
        tested: of each tested difference: how many queries, and ``Difference.detectable``.
        spec: the declaration of the metric.
    """
    few = {n for n, least in tested if least is None}
    sizes = {least: n for n, least in tested if least is not None}
    sentences = []
    if sizes:
        queries = _either({sizes[min(sizes)], sizes[max(sizes)]})
        least = " to ".join(dict.fromkeys([spec.text(min(sizes)), spec.text(max(sizes))]))
        sentences.append(
            f"{queries} queries are likely to show differences from {least} on (power {POWER} at "
            f"p < {p_text(ALPHA)}, before correction), not smaller ones."
        )
    if few:
        sentences.append(
            f"{_either(few)} {'query is' if few == {1} else 'queries are'} too few to show any "
            f"difference at p < {p_text(ALPHA)}, however large: ask {FEWEST} at least."
        )
    return " ".join(sentences)


def _either(numbers: Collection[int]) -> str:
    return " or ".join(f"{n:,}" for n in sorted(numbers, reverse=True))


def told_apart(
    comparison: Comparison, better: str = "better", worse: str = "worse"
) -> Iterator[str]:
    """Yield a sentence for each tested metric: which runs differ from the baseline, over all.

    Args:
        comparison: what is told.
        better: what a run of higher merit is called.
        worse: what one of lower merit is called.
    """
    for metric in comparison.family:
        if parts := beside_baseline(comparison, metric, better, worse):
            yield f"Beside {comparison.baseline}, by {metric}: {'; '.join(parts)}."


def beside_baseline(
    comparison: Comparison, metric: str, better: str = "better", worse: str = "worse"
) -> list[str]:
    """Return parts of a sentence: which runs are better or worse; none of parts of the queries."""
    rows = [row for row in comparison.rows if row.metric == metric and row.difference]
    if any(row.slice for row in rows):
        return []
    runs: dict[str, list[str]] = {"better": [], "worse": [], "not told apart": []}
    for row in rows:
        runs[verdict(row, comparison.spec(metric))].append(row.run)
    parts = [
        f"{listed(names)} {'is' if len(names) == 1 else 'are'} {how} (p < {p_text(ALPHA)})"
        for names, how in ((runs["better"], better), (runs["worse"], worse))
        if names
    ]
    if alike := runs["not told apart"]:
        parts.append(f"{listed(alike)} cannot be told from it (p ≥ {p_text(ALPHA)})")
    return parts


def upper_bounds(values: Mapping[str, float], best: float, spec: MetricSpec) -> str | None:
    """Say which runs that read the gold stand above the best system, if any do.

    Args:
        values: what each of them is called -> its score.
        best: the score of the best system.
        spec: the declaration of the metric.
    """
    above = [
        f"{name} ({spec.text(value)})"
        for name, value in values.items()
        if spec.merit(value) > spec.merit(best)
    ]
    return f"Higher, by reading the gold: {listed(above)}." if above else None


def listed(names: Sequence[str]) -> str:
    """Return names in a sentence, the first few of many."""
    more = f"{len(names) - _NAMED} more" if len(names) > _NAMED else ""
    *first, last = [*names[:_NAMED], *([more] if more else [])]
    return f"{', '.join(first)} and {last}" if first else last


def verdict(row: Row, spec: MetricSpec) -> str:
    """Return whether a run is ``better`` or ``worse`` than the baseline, or ``not told apart``."""
    if row.difference is None or row.is_undecided:
        return "not told apart"
    return "better" if spec.merit(row.difference.value) > 0 else "worse"


def markdown(comparison: Comparison) -> str:
    """Print the tables of the terminal as pipe tables."""
    below = "\n".join(line.replace("*", "\\*") for line in legend(comparison))
    return f"{text_tables.markdown(_tables(comparison))}\n\n{below}"


_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "–": "--",
        "≥": r"$\geq$",
    }
)
_MINUS = re.compile(r"(?<!\S)-(?=[\d.])")
_HYPHENS = re.compile(r"-(?=-)")


def latex(comparison: Comparison) -> str:
    """Print the tables of the terminal as ``tabular`` environments for the package booktabs."""
    lines = []
    for table in _tables(comparison):
        sides = "".join("r" if column.right else "l" for column in table.columns)
        rows = ([escaped_latex(" ".join(cell.split())) for cell in row] for row in table.rows)
        heads = [column.heading for column in table.columns]
        lines += latex_tabular(table.title, sides, heads, map(latex_line, rows))
    return "\n".join([*lines, *map(latex_comment, legend(comparison))])


def latex_tabular(title: str, sides: str, heads: Iterable[str], lines: Iterable[str]) -> list[str]:
    """Return the lines of a table: a side a column, as ``lrr``; ``lines`` are of ``latex_line``."""
    return [
        latex_comment(title),
        rf"\begin{{tabular}}{{{sides}}}",
        r"\toprule",
        latex_line(map(escaped_latex, heads)),
        r"\midrule",
        *lines,
        r"\bottomrule",
        r"\end{tabular}",
        "",
    ]


def escaped_latex(text: str) -> str:
    """Return a text as LaTeX prints it: a minus before a number, and no dashes of two hyphens."""
    hyphens = _HYPHENS.sub("-\0", text)
    written = _MINUS.sub("\1", hyphens).translate(_LATEX)
    return written.replace("\0", "{}").replace("\1", "$-$")


def latex_line(cells: Iterable[str]) -> str:
    """Return a line of a ``tabular`` of escaped cells."""
    return " & ".join(cells) + r" \\"


def latex_comment(text: str) -> str:
    """Return a text as a comment, which ends with its line."""
    return "% " + " ".join(text.split())
