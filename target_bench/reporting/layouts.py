"""Layouts of a comparison: text, Markdown and LaTeX; a column a metric, or a column a corpus."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import isnan

from target_bench.core import text_tables
from target_bench.core.text_tables import Column, Mark, TextTable, count_noun, p_text
from target_bench.metrics.stats import RESAMPLES
from target_bench.reporting.rows import SEED, Comparison, Row
from target_bench.reporting.sentences import describe_power
from target_bench.runs.score_tables import metric_column, score_cell

_BESIDE = 3  # metrics with their intervals in a terminal of 80 columns


def to_text(comparison: Comparison, width: int | None = None, colours: bool = False) -> str:
    """Lay a comparison out as text."""
    shown = text_tables.text(lay_out(comparison), width, colours)
    below = [
        line
        for part in describe_tests(comparison)
        for line in text_tables.wrap_sentence(part, width)
    ]
    return "\n".join([shown, "", *below])


def to_markdown(comparison: Comparison) -> str:
    """Lay a comparison out as pipe tables."""
    below = "\n".join(line.replace("*", "\\*") for line in describe_tests(comparison))
    return f"{text_tables.markdown(lay_out(comparison))}\n\n{below}"


def to_latex(comparison: Comparison) -> str:
    """Lay a comparison out as ``tabular`` environments for the package booktabs."""
    lines = [line for table in lay_out(comparison) for line in _latex_table(table)]
    return "\n".join([*lines, *map(_latex_comment, describe_tests(comparison))])


# Tables


def lay_out(comparison: Comparison) -> list[TextTable]:
    """Lay the rows out: a table a metric, or of one corpus the tested ones and then the others."""
    by_metric = {
        metric: list(rows) for metric, rows in groupby(comparison.rows, lambda row: row.metric)
    }
    if len(comparison.corpora) > 1:
        return [_paper_table(comparison, rows) for rows in by_metric.values()]
    data = f"{comparison.task}, {comparison.corpora[0]}"
    tested = [by_metric.pop(metric) for metric in list(by_metric) if metric in comparison.tested]
    others = list(by_metric.values())
    return [
        *(lay_out_tests(r, f"{r[0].metric} · {data}{_name_direction(r)}") for r in tested),
        *(_database_table(rows) for rows in tested if any(row.databases for row in rows)),
        *(
            _score_table(others[start : start + _BESIDE], f"not tested · {data}")
            for start in range(0, len(others), _BESIDE)
        ),
    ]


def _name_direction(rows: Sequence[Row]) -> str:
    return "" if rows[0].spec.higher_is_better else " · lower is better"


def lay_out_tests(
    rows: Sequence[Row], title: str, system: str = "run", subset: str = "slice"
) -> TextTable:
    """Lay out rows of one metric with their tests; ``system`` and ``subset`` head the columns."""
    is_divided = bool(rows[0].subset)
    columns = [Column(subset), Column("n", right=True)] if is_divided else []
    numbers = ("score\n[95%]", "difference\n[95%]", "p", "W/T/L")
    columns += [Column(system), *(Column(name, right=True) for name in numbers)]
    stars = max((len(row.difference.marker) for row in rows if row.difference), default=0)
    marks: dict[tuple[int, int], Mark] = {}
    cells = []
    for i, row in enumerate(rows):
        line = [row.subset, f"{row.score.n:,}"] if is_divided else []
        line += [row.system, score_cell(row.metric, row.score)]
        difference = row.difference
        if difference is None:
            cells.append([*line, "", "", ""])
            continue
        if difference.marker:
            marks[i, len(line)] = "good" if row.verdict == "better" else "bad"
        value = row.spec.text(difference.value, signed=True)
        interval = row.spec.interval(difference.low, difference.high, ", ", "+")
        p = "" if difference.p_corrected is None else p_text(difference.p_corrected)
        counts = f"{difference.wins}/{difference.ties}/{difference.losses}"
        cells.append([*line, f"{value}{difference.marker:{stars}}\n[{interval}]", p, counts])
    rules = frozenset(i for i in range(1, len(rows)) if rows[i].subset != rows[i - 1].subset)
    return TextTable(columns, cells, title, rules, marks=marks)


def _database_table(rows: Sequence[Row]) -> TextTable:
    """Lay out intervals and tests where the databases are a sample, too."""
    subset = [Column("slice")] if rows[0].subset else []
    numbers = ("databases", "95% of the score", "95% of the difference", "p")
    lines = []
    for row in rows:
        cells = ["", "", ""]
        if row.low_by_database is not None and row.high_by_database is not None:
            cells[0] = row.spec.interval(row.low_by_database, row.high_by_database)
        tested = row.difference
        if tested and tested.low_by_database is not None and tested.high_by_database is not None:
            bounds = tested.low_by_database, tested.high_by_database
            p = tested.p_by_database_corrected
            cells[1:] = row.spec.interval(*bounds, " to ", "+"), "" if p is None else p_text(p)
        names = [row.subset, row.system] if subset else [row.system]
        lines.append([*names, f"{row.databases or ''}", *cells])
    columns = [*subset, Column("run"), *(Column(name, right=True) for name in numbers)]
    title = f"{rows[0].metric} · for questions about other databases, too"
    return TextTable(columns, lines, title)


def _score_table(metrics: Sequence[Sequence[Row]], title: str) -> TextTable:
    """Lay out metrics that are not tested: a line a system, a column a metric."""
    subset = [Column("slice")] if metrics[0][0].subset else []
    lines = []
    for first, *others in zip(*metrics, strict=True):
        names = [first.subset, first.system] if subset else [first.system]
        lines.append([*names, *(score_cell(row.metric, row.score) for row in (first, *others))])
    columns = [*subset, Column("run"), *(metric_column(rows[0].metric) for rows in metrics)]
    lower = [rows[0].metric for rows in metrics if not rows[0].spec.higher_is_better]
    if lower:
        title += f" · lower is better: {', '.join(lower)}"
    return TextTable(columns, lines, title)


def _paper_table(comparison: Comparison, rows: Sequence[Row]) -> TextTable:
    """Lay out a metric as papers do: a line a method, a column a corpus, the best marked."""
    columns = [Column(name.replace(" ", "\n", 1), right=True) for name in comparison.corpora]
    cells = {(row.system, row.corpus): row for row in rows}
    lines: list[list[str]] = []
    marks: dict[tuple[int, int], Mark] = {}
    for i, system in enumerate(comparison.systems):
        line = [system]
        for j, corpus in enumerate(comparison.corpora, start=1):
            row = cells.get((system, corpus))
            if row is None:
                line.append("–   ")  # as wide as a score without its mark of significance
                continue
            marker = row.difference.marker if row.difference else ""
            score, *interval = score_cell(row.metric, row.score).split("\n")
            line.append("\n".join([f"{score}{marker:3}", *interval]))
            if is_best(row, rows):
                marks[i, j] = "best"
        lines.append(line)
    metric = rows[0].metric
    tested = "" if metric in comparison.tested else " · descriptive, not tested"
    title = f"{metric} · {comparison.task}{_name_direction(rows)}{tested}"
    return TextTable([Column("method"), *columns], lines, title, marks=marks)


def is_best(row: Row, rows: Iterable[Row]) -> bool:
    """Return whether no other system has a better score on its corpus; alone there, none is."""
    scores = [r.score.value for r in rows if r.corpus == row.corpus and not isnan(r.score.value)]
    return len(scores) > 1 and row.score.value == max(scores, key=row.spec.merit)


def describe_tests(comparison: Comparison) -> list[str]:
    """Return the name of the tests, and how to read the tables."""
    family, several = ", ".join(comparison.tested), len(comparison.corpora) > 1
    over = " over all corpora" if several else ""
    tests = (
        f"Differences from {comparison.baseline}; paired randomisation test, two-sided, "
        f"{RESAMPLES:,} samples, seed {SEED}; p corrected for "
        f"{count_noun(comparison.n_tests, 'test')} of {family}{over} (Holm): * < .05, ** < .01, "
        "*** < .001."
    )
    if several:
        lines = ["Best of a column: > or bold. In brackets: 95% intervals.", tests]
    else:
        lines = [f"{tests} W/T/L: queries won, tied and lost."]
        if any(row.databases for row in comparison.rows):
            lines.append(
                "The first intervals and p-values are about questions on these databases; those "
                "for other databases take the databases as a sample, too (docs/significance.md)."
            )
    lines += describe_power(comparison.rows, comparison.tested)
    if any(row.metric not in comparison.tested for row in comparison.rows):
        lines.append(
            f"{family} is tested. Name metrics with --metric to test each of them: p is then "
            "corrected for all of these tests."
        )
    return [*comparison.remarks, *lines, *(f"Note: {note}" for note in comparison.notes)]


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
_MINUS = re.compile(r"(?<!\S)-(?=[\d.])|(?<=\[)-(?=[\d.])")
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
        for j, cell in enumerate(row):
            first, *below = [escape_latex(line.strip()) for line in cell.split("\n")]
            value = first.rstrip("*")
            stars = first[len(value) :]
            if below and stars:  # beside the column, so that scores stay below each other
                stars = rf"\rlap{{$^{{{stars}}}$}}"
            if table.marks.get((i, j)) == "best":
                value = rf"\textbf{{{value}}}"
            small = [rf"{{\scriptsize {line}}}" for line in below if line]
            cells.append([f"{value}{stars}", *small])
        for n in range(max(map(len, cells))):  # the lines of cells below each other
            yield _latex_line(cell[n] if n < len(cell) else "" for cell in cells)
    yield r"\bottomrule"
    yield r"\end{tabular}"
    yield ""


def _latex_line(cells: Iterable[str]) -> str:
    line = " & ".join(cells)
    # After the end of a line a bracket would begin its argument.
    return f"{'{}' if line.startswith('[') else ''}{line} \\\\"


def _latex_comment(text: str) -> str:
    """Return a text as a comment, which ends with its line."""
    return "% " + " ".join(text.split())
