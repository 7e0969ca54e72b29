"""What ``target-bench labels`` prints: agreement, disagreements, strata, plans."""

from typing import TYPE_CHECKING

from target_bench.core.text_tables import Column, TextTable, print_tables, say, say_wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from target_bench.reporting.labels.collected import Collected
    from target_bench.reporting.labels.planning import Plan

_MOST_SHOWN = 20


def print_collected(found: "Collected") -> None:
    """Print what people said together, and what they do not agree on."""
    counted = {
        "labelled": found.count("labelled"),
        "rejected": found.count("rejected"),
        "disputed": found.count("disputed"),
        "unfinished": found.count("unfinished"),
    }
    states = ", ".join(f"{n:,} {name}" for name, n in counted.items() if n)
    people = f"{len(found.labels)} annotator{'' if len(found.labels) == 1 else 's'}"
    say(f"{len(found.by_query):,} questions from {people}: {states}")
    if found.n_judged:
        say(f"{found.n_judged:,} tables judged, {found.n_relevant:,} of them relevant")
    if found.without_relevant:
        say(
            f"{len(found.without_relevant):,} questions have no relevant table in their pool; they "
            "count in no score"
        )
    tables = [_agreement_table(found), _disagreements_table(found), _strata_table(found)]
    shown = [table for table in tables if table.rows]
    if shown:
        say("")
        print_tables(*shown)


def _agreement_table(found: "Collected") -> TextTable:
    rows = [
        [
            " and ".join(name or "(no name)" for name in one.annotators),
            one.what,
            f"{one.n:,}",
            f"{one.same:.1%}",
            "–" if one.kappa is None else f"{one.kappa:.2f}",
            "" if one.low is None else f"{one.low:.2f} to {one.high:.2f}",
        ]
        for one in found.agreements
    ]
    columns = [Column("annotators"), Column("judged")]
    columns += [Column(name, right=True) for name in ("n", "same", "kappa", "95%")]
    return TextTable(columns, rows, "Agreement (Cohen's kappa)")


def _disagreements_table(found: "Collected") -> TextTable:
    rows = [
        [
            name,
            str(table) if table else "the question",
            "; ".join(f"{word}: {', '.join(people)}" for word, people in said.items()),
        ]
        for name, table, said in found.disagreements()
    ]
    more = f"and {len(rows) - _MOST_SHOWN:,} more (--json lists all)"
    return TextTable(
        [Column("question"), Column("table"), Column("said", prose=True)],
        rows[:_MOST_SHOWN],
        "As many say one as the other: such a table stays unjudged, such a question as it was",
        note=more if len(rows) > _MOST_SHOWN else None,
    )


def _strata_table(found: "Collected") -> TextTable:
    rows = [
        [
            *one.values,
            f"{one.questions:,}",
            f"{one.labelled:,}",
            "–" if one.weight is None else f"{one.weight:.2f}",
        ]
        for one in found.strata
    ]
    columns = [*map(Column, found.by)]
    columns += [Column(name, right=True) for name in ("questions", "labelled", "weight")]
    return TextTable(columns, rows, "Strata of the sample")


def print_plans(plans: "Sequence[Plan]", effects: "Sequence[float]") -> None:
    """Print a table a run, and how to read it.

    Args:
        plans: of every run and cutoff.
        effects: the differences that are planned for.
    """
    names = dict.fromkeys(one.run for one in plans)
    of_run = [[one for one in plans if one.run == name] for name in names]
    print_tables(*(_plan_table(found, effects) for found in of_run))
    say("")
    for line in _ABOUT_PLANS:
        say_wrapped(line)


_ABOUT_PLANS = (
    "differ: share of questions whose first k tables are not the same set, with its 95% interval. "
    "recall@k cannot differ by more.",
    "shown: the smallest difference of recall@k that all questions are likely to show if they are "
    "labelled (power 0.8 at p < 0.05).",
    "Then for each difference of recall@k: the questions to sample, and those of them whose first "
    "tables differ and that need labels.",
)


def _plan_table(plans: "Sequence[Plan]", effects: "Sequence[float]") -> TextTable:
    first = plans[0]
    pilot = any(one.labelled for one in plans)
    columns = [Column("k", right=True), Column("differ", right=True)]
    columns += [Column("95%", right=True, below=True)]
    columns += [Column("pilot", right=True)] if pilot else []
    columns += [Column("shown", right=True)]
    for effect in effects:
        name = f"{effect:g}".removeprefix("0")
        columns += [Column(name, right=True, label=f"questions for {name}")]
        columns += [Column("label", right=True, below=True, label=f"to label for {name}")]
    title = f"{first.run} and {first.baseline}: {first.questions:,} questions"
    title += f", {first.labelled:,} of them labelled" if pilot else ", no labels"
    note = (
        "pilot: mean squared difference of recall@k over the labelled questions" if pilot else None
    )
    if any(one.mean_square == 0 for one in plans):
        note = f"{note}. Where it is 0, nothing can be planned: label more questions."
    return TextTable(columns, [_plan_row(one, effects, pilot) for one in plans], title, note=note)


def _plan_row(one: "Plan", effects: "Sequence[float]", pilot: bool) -> list[str]:
    row = [f"{one.k:,}", f"{one.share:.3f}", f"{one.low:.3f}–{one.high:.3f}"]
    if pilot:
        row.append("–" if one.mean_square is None else f"{one.mean_square:.3f}")
    row.append("–" if one.detectable is None else f"{one.detectable:.3f}")
    for effect in effects:
        n, labels = one.needed[effect], one.to_label(effect)
        row += ["–", ""] if n is None or labels is None else [f"{n:,}", f"{labels:,}"]
    return row
