"""Layouts of a comparison: text, Markdown and LaTeX; a column a metric, or a column a corpus."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import isnan

from target_bench.core import text_tables
from target_bench.core.text_tables import Column, Mark, TextTable, counted, p_text
from target_bench.reporting.rows import Comparison, Row
from target_bench.reporting.sentences import describe_power
from target_bench.runs.score_tables import metric_column, score_cell

_BESIDE = 3
"""Metrics beside each other, with their intervals, in a terminal of 80 columns."""


def text(comparison: Comparison, width: int | None = None, colours: bool = False) -> str:
    """Lay a comparison out as text."""
    shown = text_tables.text(tables(comparison), width, colours)
    below = [part for line in legend(comparison) for part in text_tables.wrapped(line, width)]
    return "\n".join([shown, "", *below])


def markdown(comparison: Comparison) -> str:
    """Lay a comparison out as pipe tables."""
    below = "\n".join(line.replace("*", "\\*") for line in legend(comparison))
    return f"{text_tables.markdown(tables(comparison))}\n\n{below}"


def latex(comparison: Comparison) -> str:
    """Lay a comparison out as ``tabular`` environments for the package booktabs."""
    lines = [line for table in tables(comparison) for line in _latex_table(table)]
    return "\n".join([*lines, *map(_latex_comment, legend(comparison))])


# Tables


def tables(comparison: Comparison) -> list[TextTable]:
    """Lay the rows out: a table a metric, or of one corpus the tested ones and then the others."""
    by_metric = {
        metric: list(rows) for metric, rows in groupby(comparison.rows, lambda row: row.metric)
    }
    if len(comparison.corpora) > 1:
        return [_paper_table(comparison, metric, rows) for metric, rows in by_metric.items()]
    tested = {metric: by_metric[metric] for metric in by_metric if metric in comparison.tested}
    others = [metric for metric in by_metric if metric not in tested]
    beside = [others[i : i + _BESIDE] for i in range(0, len(others), _BESIDE)]
    with_databases = {m: rows for m, rows in tested.items() if any(r.databases for r in rows)}
    return [
        *(lay_out_tests(rows, _title(comparison, metric, rows)) for metric, rows in tested.items()),
        *(_database_table(metric, rows) for metric, rows in with_databases.items()),
        *(_score_table(comparison, {m: by_metric[m] for m in metrics}) for metrics in beside),
    ]


def _lower(rows: Sequence[Row]) -> str:
    return "" if rows[0].spec.higher_is_better else " · lower is better"


def _title(comparison: Comparison, metric: str, rows: Sequence[Row]) -> str:
    return f"{metric} · {comparison.task}, {comparison.corpora[0]}{_lower(rows)}"


def lay_out_tests(
    rows: Sequence[Row], title: str, system: str = "run", subset: str = "slice"
) -> TextTable:
    """Lay out rows of one metric with their tests; ``system`` and ``subset`` head the columns."""
    divided = [Column(subset), Column("n", right=True)] if rows[0].subset else []
    columns = [
        *divided,
        Column(system, prose=system != "run"),  # settings may be long lists
        Column("score", right=True),
        Column("95%", right=True, below=True, label="95% of the score"),
        Column("difference", right=True),
        Column("95%", right=True, below=True, label="95% of the difference"),
        Column("p", right=True),
        Column("W/T/L", right=True),
    ]
    marks: dict[tuple[int, int], Mark] = {}
    cells = []
    for i, row in enumerate(rows):
        line = [row.subset, f"{row.score.n:,}"] if divided else []
        line += [row.system, row.spec.text(row.score.value), interval_text(row)]
        difference = row.difference
        if difference is None:
            cells.append([*line, "", "", "", ""])
            continue
        if difference.marker:
            better = row.spec.merit(difference.value) > 0
            marks[i, len(line)] = "good" if better else "bad"
        cells.append(
            [
                *line,
                f"{row.spec.text(difference.value, signed=True)}{difference.marker}",
                row.spec.interval(difference.low, difference.high, " to ", "+"),
                "" if difference.p_corrected is None else p_text(difference.p_corrected),
                f"{difference.wins}/{difference.ties}/{difference.losses}",
            ]
        )
    rules = frozenset(i for i in range(1, len(rows)) if rows[i].subset != rows[i - 1].subset)
    return TextTable(columns, cells, title, rules, marks=marks)


def interval_text(row: Row) -> str:
    """Return the 95% interval of a score; nothing over no query."""
    return "" if isnan(row.score.low) else row.spec.interval(row.score.low, row.score.high)


def _database_table(metric: str, rows: Sequence[Row]) -> TextTable:
    """Lay out intervals and tests where the databases are a sample, too."""
    subset = [Column("slice")] if rows[0].subset else []
    columns = [
        *subset,
        Column("run"),
        Column("databases", right=True),
        Column("95%", right=True, label="95% of the score"),
        Column("95% of difference", right=True, label="95% of the difference"),
        Column("p", right=True),
    ]
    lines = []
    for row in rows:
        cells = ["", "", ""]
        if row.low_by_database is not None and row.high_by_database is not None:
            cells[0] = row.spec.interval(row.low_by_database, row.high_by_database)
        of = row.difference
        if of and of.low_by_database is not None and of.high_by_database is not None:
            cells[1] = row.spec.interval(of.low_by_database, of.high_by_database, " to ", "+")
            p = of.p_by_database_corrected
            cells[2] = "" if p is None else p_text(p)
        lines.append(
            [*([row.subset] if subset else []), row.system, f"{row.databases or ''}", *cells]
        )
    return TextTable(columns, lines, f"{metric} · for questions about other databases, too")


def _score_table(comparison: Comparison, by_metric: Mapping[str, Sequence[Row]]) -> TextTable:
    """Lay out metrics that are not tested: a line a system, a column a metric."""
    lines = []
    for rows in zip(*by_metric.values(), strict=True):
        cells = [score_cell(row.metric, row.score) for row in rows]
        lines.append([*filter(None, [rows[0].subset]), rows[0].system, *cells])
    subset = [Column("slice")] if len(lines[0]) > 1 + len(by_metric) else []
    low = [name for name, rows in by_metric.items() if _lower(rows)]
    lower = f" · lower is better: {', '.join(low)}" if low else ""
    title = f"not tested · {comparison.task}, {comparison.corpora[0]}{lower}"
    return TextTable([*subset, Column("run"), *map(metric_column, by_metric)], lines, title)


def _paper_table(comparison: Comparison, metric: str, rows: Sequence[Row]) -> TextTable:
    """Lay out a metric as papers do: a line a method, a column a corpus, the best marked."""
    columns = [Column(name.replace(" ", "\n", 1), right=True) for name in comparison.corpora]
    at = {(row.system, row.corpus): row for row in rows}
    lines: list[list[str]] = []
    marks: dict[tuple[int, int], Mark] = {}
    for i, system in enumerate(comparison.systems):
        cells = [system]
        for j, corpus in enumerate(comparison.corpora, start=1):
            row = at.get((system, corpus))
            if row is None:
                cells.append("–   ")  # as wide as a score without its mark of significance
                continue
            marker = row.difference.marker if row.difference else ""
            cells.append(f"{row.spec.text(row.score.value)}{marker:3}\n{interval_text(row)}")
            if is_best(row, rows):
                marks[i, j] = "best"
        lines.append(cells)
    descriptive = "" if metric in comparison.tested else " · descriptive, not tested"
    title = f"{metric} · {comparison.task}{_lower(rows)}{descriptive}"
    return TextTable([Column("method"), *columns], lines, title, marks=marks)


def is_best(row: Row, rows: Iterable[Row]) -> bool:
    """Return whether no other system has a better score on its corpus; alone there, none is."""
    scores = [r.score.value for r in rows if r.corpus == row.corpus and not isnan(r.score.value)]
    return len(scores) > 1 and row.score.value == max(scores, key=row.spec.merit)


def legend(comparison: Comparison) -> list[str]:
    """Return the name of the tests, and how to read the tables."""
    family, draws = ", ".join(comparison.tested), comparison.draws
    several = len(comparison.corpora) > 1
    over = " over all corpora" if several else ""
    lines = [
        f"Differences from {comparison.baseline}; paired randomisation test, two-sided, "
        f"{draws.resamples:,} samples, seed {draws.seed}; p corrected for "
        f"{counted(comparison.n_tests, 'test')} of {family}{over} (Holm): * < .05, ** < .01, "
        "*** < .001."
    ]
    if several:
        lines.insert(0, "Best of a column: > or bold. Below a score: its 95% interval.")
    else:
        lines[0] += " W/T/L: queries won, tied and lost."
    if any(row.databases for row in comparison.rows) and not several:
        lines.append(
            "The first intervals and p-values are about questions on these databases; those for "
            "other databases take the databases as a sample, too (docs/significance.md)."
        )
    lines += describe_power(comparison.rows, comparison.tested)
    if comparison.own_means:
        lines.append(f"{describe_own_means(comparison)}.")
    if any(row.metric not in comparison.tested for row in comparison.rows):
        lines.append(
            f"{family} is tested. Name metrics with --metric to test each of them: p is then "
            "corrected for all of these tests."
        )
    return [*comparison.remarks, *lines, *(f"Note: {note}" for note in comparison.notes)]


def describe_own_means(comparison: Comparison) -> str:
    """Say the mean of each file of values, over all that it has."""
    spec = comparison.specs[comparison.tested[0]]
    means = (f"{name} {spec.text(m)} (n = {n:,})" for name, (m, n) in comparison.own_means.items())
    return f"Mean of each file by itself: {', '.join(means)}"


# LaTeX

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


def escape_latex(text: str) -> str:
    """Escape a text for LaTeX: a minus before a number, and no dashes of two hyphens."""
    hyphens = _HYPHENS.sub("-\0", text)
    written = _MINUS.sub("\1", hyphens).translate(_LATEX)
    return written.replace("\0", "{}").replace("\1", "$-$")


def _latex_table(table: TextTable) -> Iterator[str]:
    sides = "".join("r" if column.right else "l" for column in table.columns)
    yield _latex_comment(table.title)
    yield rf"\begin{{tabular}}{{{sides}}}"
    yield r"\toprule"
    yield _latex_line(escape_latex(column.heading) for column in table.columns)
    yield r"\midrule"
    for i, row in enumerate(table.rows):
        cells = []
        for j, (cell, column) in enumerate(zip(row, table.columns, strict=True)):
            lines = [" ".join(cell.split())] if column.beside else cell.split("\n")
            first, *below = [escape_latex(line.strip()) for line in lines]
            value = first.rstrip("*")
            stars = first[len(value) :]
            if below and stars:  # beside the column, so that scores stay below each other
                stars = rf"\rlap{{$^{{{stars}}}$}}"
            if table.marks.get((i, j)) == "best":
                value = rf"\textbf{{{value}}}"
            first = f"{value}{stars}"
            cells.append([first, *(rf"{{\scriptsize {line}}}" for line in below if line)])
        for n in range(max(map(len, cells))):  # the lines of cells below each other
            yield _latex_line(cell[n] if n < len(cell) else "" for cell in cells)
    yield r"\bottomrule"
    yield r"\end{tabular}"
    yield ""


def _latex_line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex_comment(text: str) -> str:
    """Return a text as a comment, which ends with its line."""
    return "% " + " ".join(text.split())
