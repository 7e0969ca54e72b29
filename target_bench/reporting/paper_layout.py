"""The table of a paper as text, Markdown and LaTeX."""

from target_bench.core import text_tables
from target_bench.core.text_tables import Column, TextTable, counted
from target_bench.reporting.comparison import POWERFUL, escaped_latex, span
from target_bench.reporting.paper_table import PaperTable

BEST = ">"
"""Mark of the best score of a column where no letter can be bold."""

_MARKS = 3
"""Characters of the longest mark of significance."""


def text(table: PaperTable, width: int | None = None, colours: bool = False) -> str:
    """One table per metric, intervals below their scores.

    Args:
        table: what is shown.
        width: columns of the terminal; None for no limit.
        colours: whether the terminal has colours.
    """
    found = [_table(table, metric) for metric in table.metrics]
    wrapped = text_tables.wrapped(" ".join(_legend(table, f"{BEST} best of the column")), width)
    return "\n".join([text_tables.text(found, width, colours), "", *wrapped])


def _table(table: PaperTable, metric: str) -> TextTable:
    columns = [Column(corpus.replace(" ", "\n", 1), right=True) for corpus in table.corpora]
    rows = [
        [method, *(_text_cell(table, metric, corpus, method) for corpus in table.corpora)]
        for method in table.methods
    ]
    title = f"{metric} · {table.task}{_addition(table, metric)}"
    return TextTable([Column("method"), *columns], rows, title)


def _text_cell(table: PaperTable, metric: str, corpus: str, method: str) -> str:
    score, marker, bounds = _parts(table, metric, corpus, method)
    if not score:
        return "–".ljust(_MARKS + 1)
    best = BEST if table.is_best(metric, corpus, method) else ""
    return f"{best}{score}{marker.ljust(_MARKS)}\n{bounds}"


def _parts(table: PaperTable, metric: str, corpus: str, method: str) -> tuple[str, str, str]:
    """Return score, mark and interval; empty where the method was not run."""
    row, spec = table.cells.get((metric, corpus, method)), table.specs[metric]
    if row is None:
        return "", "", ""
    marker = row.difference.marker if row.difference is not None else ""
    bounds = "" if row.low != row.low else text_tables.interval(row.low, row.high, spec.digits)
    return spec.text(row.score), marker, bounds


def _addition(table: PaperTable, metric: str) -> str:
    lower = "" if table.specs[metric].higher_is_better else " · lower is better"
    return lower + ("" if metric in table.family else " · descriptive, not tested")


def _legend(table: PaperTable, best: str) -> list[str]:
    how = "randomisation" if table.test == "randomization" else "bootstrap"
    tests = f"{counted(table.n_tests, 'test')}"
    return [
        f"{best}; below a score: its 95% interval.",
        f"Different from {table.baseline} on the same queries: * p < 0.05, ** p < 0.01, "
        f"*** p < 0.001 (paired {how} test of {', '.join(table.family)}, two-sided, corrected for "
        f"{tests} over all corpora, Holm).",
        *(_power(table, metric) for metric in table.family),
        *table.notes,
    ]


def _power(table: PaperTable, metric: str) -> str:
    """Return the smallest differences that the queries of each corpus are likely to show."""
    least = []
    for corpus in table.corpora:
        rows = [row for (m, c, _), row in table.cells.items() if (m, c) == (metric, corpus)]
        sizes = [row.difference.detectable for row in rows if row.difference is not None]
        if sizes:
            known = [size for size in sizes if size is not None]
            from_ = (
                f"from {span(known, table.specs[metric])}" if known else "none (too few queries)"
            )
            least.append(f"{corpus} {from_}")
    return (
        f"Differences of {metric} that the queries are likely to show {POWERFUL}: "
        f"{', '.join(least)}."
    )


def markdown(table: PaperTable) -> str:
    """One pipe table, with a column per corpus and metric."""
    columns = [(corpus, metric) for corpus in table.corpora for metric in table.metrics]
    several = len(table.metrics) > 1
    header = [f"{corpus} {metric}" if several else corpus for corpus, metric in columns]
    lines = [["method", *header], ["---", *["---:"] * len(columns)]]
    for method in table.methods:
        cells = [_markdown_cell(table, metric, corpus, method) for corpus, metric in columns]
        lines.append([method.replace("|", "\\|"), *cells])
    about = f"**{', '.join(table.metrics)}** ({table.task})"
    legend = " ".join(_legend(table, "Bold: best of the column")).replace("*", "\\*")
    pipes = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([about, "", *pipes, "", legend, ""])


def _markdown_cell(table: PaperTable, metric: str, corpus: str, method: str) -> str:
    score, marker, bounds = _parts(table, metric, corpus, method)
    if not score:
        return "–"
    bold = f"**{score}**" if table.is_best(metric, corpus, method) else score
    return f"{bold}{marker.replace('*', chr(92) + '*')}<br>{bounds}"


def latex(table: PaperTable) -> str:
    """Return a ``tabular`` for the package booktabs; intervals stand in lines of their own."""
    n = len(table.metrics)
    columns = [(corpus, metric) for corpus in table.corpora for metric in table.metrics]
    heads = [_spanning(corpus, n) for corpus in table.corpora]
    lines = [
        f"% {', '.join(table.metrics)}, {table.task}",
        rf"\begin{{tabular}}{{l{'r' * len(columns)}}}",
        r"\toprule",
        _latex_line(["" if n > 1 else "method", *heads]),
    ]
    if n > 1:
        rules = (
            rf"\cmidrule(lr){{{2 + i * n}-{1 + (i + 1) * n}}}" for i in range(len(columns) // n)
        )
        metrics = [escaped_latex(metric) for _, metric in columns]
        lines += [" ".join(rules), _latex_line(["method", *metrics])]
    lines.append(r"\midrule")
    for method in table.methods:
        parts = [_parts(table, metric, corpus, method) for corpus, metric in columns]
        best = [table.is_best(metric, corpus, method) for corpus, metric in columns]
        scores = [_latex_cell(*part[:2], bold) for part, bold in zip(parts, best, strict=True)]
        bounds = [rf"{{\scriptsize {escaped_latex(part[2])}}}" if part[2] else "" for part in parts]
        lines += [_latex_line([escaped_latex(method), *scores]), _latex_line(["", *bounds])]
    legend = _legend(table, "Bold: best of the column")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", *(f"% {s}" for s in legend), ""])


def _spanning(corpus: str, n: int) -> str:
    name = escaped_latex(corpus)
    return rf"\multicolumn{{{n}}}{{c}}{{{name}}}" if n > 1 else name


def _latex_cell(score: str, marker: str, bold: bool) -> str:
    if not score:
        return "--"
    shown = rf"\textbf{{{score}}}" if bold else score
    return shown + (rf"\rlap{{$^{{{marker}}}$}}" if marker else "")


def _latex_line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
