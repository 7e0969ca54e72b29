"""Baselines of TabXEval's Table 2 that ask a language model: rubric, ranking and TabEval.

``direct_rubric`` asks with the prompt of the paper's Figure 8 (Pancholi et al. 2025, CC BY 4.0) as
it is printed there, dots included. The paper does not say how a score follows from its four tables:
here it is the rubric's, all weights 1, of the counts in a reply. ``ranking`` gives the model the
guide of appendix F, by which people ranked; the paper prints no prompt for it. ``tabeval`` (Ramu et
al. 2024) asks for the statements of each table by the steps of that paper, in words of our own and
without its examples, and scores them by a model of natural language inference, there RoBERTa-MNLI.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.table_metrics.ranked_tables import RankedSet
from target_bench.core.reasoning import without_reasoning
from target_bench.models.judges import ModelJudge, Wording, text_of

Floats = NDArray[np.float64]
Entailment = Callable[[Sequence[tuple[str, str]]], Sequence[float]]
"""Pairs of premise and hypothesis -> the probability that the premise entails the hypothesis."""

RUBRIC = Wording(
    "table_rubric",
    "tabxeval-direct:1",
    "You are an advanced data comparison and analysis engine.",
)
RANKING = Wording("table_ranking", "tabxeval-guide:1", "You rank tables carefully.")
UNROLLING = Wording("table_unrolling", "tabeval-steps:1", "You write down what tables say.")

_RUBRIC = """\
You are an advanced data comparison and analysis engine. Your task is to receive two tables \
(GT and Generated) and perform a thorough comparison to extract difference metrics. Output four \
statistics:

1. Row and Column Stats
For each, report EM, MI, EI ...
Format:
| Type   | MI  | EI  | EM  |
|--------|-----|-----|-----|
| Row    | ... | ... | ... |
| Column | ... | ... | ... |

2. Detailed Column Stats
Analyze each column by data type (Numerical, String, Bool, Date, List, Time, Others) ...
Format:
|           | Numerical | String | Bool | Date | List | Time | Others|
|-----------|-----------|--------|------|------|------|------|-------|
| EI        | ...       | ...    | ...  | ...  | ...  | ...  | ...   |
| MI        | ...       | ...    | ...  | ...  | ...  | ...  | ...   |

3. Detailed Cell Stats
Exclude missing/extra rows/columns, then classify cell differences (MI, EI, Partial) ...
Format:
| Category | Numerical | String | Bool | Date | List | Time | Others |
|----------|-----------|--------|------|------|------|------|--------|
| MI       | ...       | ...    | ...  | ...  | ...  | ...  | ...    |
| EI       | ...       | ...    | ...  | ...  | ...  | ...  | ...    |
| Partial  | ...       | ...    | ...  | ...  | ...  | ...  | ...    |

4. Cell Level Difference with Magnitude
For nuanced differences (unit, format, etc.), output JSON with ...

Only output the 4 tables (Row and Column Stats, Detailed Column Stats, Detailed Cell Stats, and \
Cell Level Difference with Magnitude) in the specified formats with no extra text.

GT:
{reference}

Generated:
{prediction}"""

_RANKING = """\
Review the ground truth table below carefully. Examine each of the {n} reference tables. Rank the \
reference tables from best to worst based on their similarity to the ground truth.

Ranking Criteria
Structural Factors (In Order of Priority)
1. Column Missing - Should be ranked lower in case of a tie in the number of missing cells in rows.
2. Column Extra - Should be ranked lower in case of a tie in the number of extra cells in rows.
3. Row Missing - Tables with missing rows should be ranked lower.
4. Row Extra - Tables with additional rows should be ranked lower.
5. Cells Missing - The number of missing individual cells should influence ranking.
6. Cells Extra - The number of extra individual cells should be considered.
7. Partial Mismatching Severity - The extent to which values differ from the ground truth should \
impact the ranking.
Contextual Factors (In Order of Priority)
1. String Values - Should be prioritized in mismatches.
2. Numeric, Boolean, Date-Time Values - Rank based on their correctness.
3. List Values - Consider discrepancies in list-type data.
4. Other Data Types - Consider deviations in less common formats.
Tie-Breaking Rule
If a tie occurs, prioritize ranking based on the number of affected cells within rows and columns. \
Additionally, headers with inappropriate values that do not match the expected column meaning \
should be treated as "wrong columns" and ranked similarly to missing columns.

Ground Truth Table
{reference}

{tables}

Answer with the numbers of the tables, the best first, divided by commas, and nothing else."""

_UNROLLING = """\
Write down all that the table below says, as statements in plain sentences.

1. Find the headers of the columns and the rows.
2. Take from each row the smallest pieces of information, those that cannot be divided.
3. Find the primary key: the column, or columns, whose values tell the rows apart. Join it with \
each other column in turn, a statement each; a key of several columns is joined whole. Without a \
key, join two columns at a time so that the sentence makes sense.
4. Add a value of another column only where equal things have to be told apart.
5. Leave out nothing that the table says.

{table}

Answer with the statements alone, one a line, each after its number and a full stop."""


def direct_rubric(generator: object, sets: Sequence[RankedSet]) -> list[Floats]:
    """Return a score from 0 to 1 of every table; NaN where a reply has not the counts asked for."""
    pairs = [pair for ranked in sets for pair in ranked.pairs]
    prompts = {
        str(i): _RUBRIC.format(reference=pair.gold, prediction=pair.plain)
        for i, pair in enumerate(pairs)
    }
    replies = ModelJudge(generator, RUBRIC).replies(prompts)
    scores = [
        rubric_score(
            without_reasoning(text_of(replies[str(i)]) or ""),
            len(pair.reference.tables[0].rows) - 1,
            pair.reference.tables[0].width,
        )
        for i, pair in enumerate(pairs)
    ]
    ends = np.cumsum([len(ranked.pairs) for ranked in sets])[:-1]
    return np.split(np.array(scores), ends)


def rubric_score(reply: str, n_rows: int, n_columns: int) -> float:
    """Return 1 less the rubric's penalty of the counts in a reply; NaN where they are not there.

    Args:
        reply: with tables of the statistics 1 and 3.
        n_rows: of the reference.
        n_columns: of the reference.
    """
    lines: dict[str, dict[str, float]] = {}
    for header, (name, *numbers) in _table_lines(reply):
        kind = name.casefold()
        if kind in ("row", "column"):
            lines[kind] = dict(zip(header[1:], numbers, strict=False))
        elif header[0].casefold() == "category" and kind in ("mi", "ei", "partial"):
            lines[f"cells {kind}"] = dict(zip(header[1:], numbers, strict=False))
    cells = [lines.get(f"cells {kind}") for kind in ("mi", "ei", "partial")]
    if not all({"MI", "EI"} <= lines.get(kind, {}).keys() for kind in ("row", "column")):
        return np.nan
    if None in cells:
        return np.nan
    penalty, sizes = 0.0, []
    for kind, n in (("row", n_rows), ("column", n_columns)):
        missing, extra = lines[kind]["MI"], lines[kind]["EI"]
        sizes.append(max(1.0, n + extra))
        penalty += (missing + extra) / sizes[-1]
    wrong = sum(sum(counts.values()) for counts in cells if counts)
    return float(np.maximum(0.0, 1.0 - penalty - wrong / (sizes[0] * sizes[1])))


_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def _table_lines(text: str) -> Iterator[tuple[list[str], tuple[str, *tuple[float, ...]]]]:
    """Yield header and cells of every line of the tables of a text, the cells as numbers.

    A cell without a number is 0; dots, which stand for numbers in the prompt, are NaN.
    """
    header: list[str] | None = None
    for line in text.splitlines():
        cells = [cell.strip(" *`") for cell in line.strip().strip("|").split("|")]
        if len(cells) < 2:
            header = None
        elif header is None:
            header = cells
        elif not set("".join(cells)) <= set("-: "):
            yield header, (cells[0], *map(_number, cells[1:]))


def _number(cell: str) -> float:
    match = _NUMBER.match(cell)
    if match is None:
        return np.nan if "..." in cell else 0.0
    return float(match[0])


def ranking(generator: object, sets: Sequence[RankedSet]) -> list[Floats]:
    """Return of each set the tables' scores, 0 for the best; NaN where a reply is no ranking."""
    prompts = {
        str(i): _RANKING.format(
            n=len(ranked.pairs),
            reference=ranked.pairs[0].gold,
            tables="\n\n".join(
                f"Reference Table {n}\n{pair.plain}" for n, pair in enumerate(ranked.pairs, start=1)
            ),
        )
        for i, ranked in enumerate(sets)
    }
    replies = ModelJudge(generator, RANKING).replies(prompts)
    return [
        rank_scores(without_reasoning(text_of(replies[str(i)]) or ""), len(ranked.pairs))
        for i, ranked in enumerate(sets)
    ]


def rank_scores(reply: str, n: int) -> Floats:
    """Return 0 for the table that a reply names first, -1 for the next; NaN unless all are named.

    Args:
        reply: whose last line counts.
        n: the number of tables.
    """
    last = (reply.strip().splitlines() or [""])[-1]
    named = [int(number) for number in re.findall(r"\d+", last)]
    if sorted(named) != list(range(1, n + 1)):
        return np.full(n, np.nan)
    return np.array([-float(named.index(place)) for place in range(1, n + 1)])


def tabeval(
    generator: object, sets: Sequence[RankedSet], entailment: Entailment, prompt: Path | None = None
) -> list[Floats]:
    """Return F1 of the statements of each table; NaN where a reply has none.

    Precision is the mean over the statements of a table of the highest probability that one of the
    reference's entails it, recall the same turned about.

    Args:
        generator: writes the statements, each table once.
        sets: the tables.
        entailment: of two statements, such as ``entailment_by``.
        prompt: a file with the words to ask with, ``{table}`` for the table; None for ours.
    """
    instruction = prompt.read_text() if prompt else _UNROLLING
    texts = {text for ranked in sets for pair in ranked.pairs for text in (pair.gold, pair.plain)}
    prompts = {text: instruction.replace("{table}", text) for text in texts}
    statements = {
        text: re.findall(r"^\s*\d+\.\s+(.*\S)", _statements_part(text_of(reply)), re.MULTILINE)
        for text, reply in ModelJudge(generator, UNROLLING).replies(prompts).items()
    }
    return [
        np.array(
            [_entailed(statements[p.plain], statements[p.gold], entailment) for p in ranked.pairs]
        )
        for ranked in sets
    ]


def _statements_part(reply: str | None) -> str:
    """Return a reply from ``Statements:`` to ``Rows:``, which the paper's prompt asks for."""
    return without_reasoning(reply or "").rpartition("Statements:")[2].partition("Rows:")[0]


def _entailed(answer: list[str], reference: list[str], entailment: Entailment) -> float:
    if not answer or not reference:
        return np.nan
    precision, recall = (
        np.reshape(entailment([*product(premises, hypotheses)]), (len(premises), -1)).max(0).mean()
        for premises, hypotheses in ((reference, answer), (answer, reference))
    )
    both = precision + recall
    return float(2 * precision * recall / both) if both else 0.0


def entailment_by(model: str) -> Entailment:
    """Return entailment by a model of natural language inference, as ``roberta-large-mnli``.

    Args:
        model: a name or folder of ``transformers``, with a label that begins with ``entail``.
    """
    from transformers import pipeline

    classify = pipeline("text-classification", model=model, top_k=None)

    def probabilities(pairs: Sequence[tuple[str, str]]) -> list[float]:
        inputs = [{"text": premise, "text_pair": hypothesis} for premise, hypothesis in pairs]
        return [
            next(x["score"] for x in labels if x["label"].lower().startswith("entail"))
            for labels in classify(inputs, truncation=True, batch_size=32)
        ]

    return probabilities
