"""``target-bench tables perturb`` and ``tables arena``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from target_bench.cli.command_line import AsJson, DataDir, Debug, Offline, Split, Yes
from target_bench.cli.output import ask_for_consent, check_output, print_json, written_to
from target_bench.core.text_tables import Column, TextTable, print_tables, say

if TYPE_CHECKING:
    from target_bench.harness.arena.arena import Arena

PERTURB_HELP = """Change tables of a corpus in known ways, and write them with what was changed.

Errors of 24 kinds at three levels, and changes that keep the meaning: one JSON object a line, with
the reference, the table, and the true differences. One seed gives one set.
"""

ARENA_HELP = """Test metrics of tables against rankings by people and against known errors.

`target-bench tables arena` needs no data: it uses tables of mini, with ratings of our own.
`--corpus tabxbench` uses the rankings of TabXBench. A metric of your own joins with `--metric
file.py:NAME`.
"""

Seed = Annotated[int, typer.Option(help="Of the random numbers.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands to a group."""
    app.command("perturb", help=PERTURB_HELP)(perturb)
    app.command("arena", help=ARENA_HELP)(arena)


def perturb(
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file.")] = Path("perturbed.jsonl"),
    n: Annotated[int, typer.Option("--n", min=1, help="How many tables.")] = 1000,
    seed: Seed = 0,
    change: Annotated[
        list[str] | None,
        typer.Option(
            "--change", help="Only this change; may be repeated. Default: all.", show_default=False
        ),
    ] = None,
    split: Split = None,
    data_dir: DataDir = None,
    offline: Offline = False,
    debug: Debug = False,
) -> None:
    """Load, draw, write, and say what was made."""
    from target_bench.data.select import load
    from target_bench.harness.arena.comparison_sets import tables_of
    from target_bench.models.perturbations.drawing import CHANGES, draw, write

    check_output(out, "-o", "perturbed.jsonl")
    drawn = draw(tables_of(load(corpus, split, data_dir)), n, seed, change)
    with written_to(out, "-o"):
        write(out, drawn.perturbations)
    made = [one.change for one in drawn.perturbations]
    rows = [
        [name, CHANGES[name].about, f"{made.count(name):,}"] for name in CHANGES if name in made
    ]
    columns = [Column("change"), Column("what it does", prose=True), Column("tables", right=True)]
    print_tables(TextTable(columns, rows))
    say(f"{out}: {len(made):,} tables")
    if drawn.absent:
        say(f"of no table: {', '.join(drawn.absent)}")
    if len(made) < n:
        say(f"fewer than {n:,}: these changes give no more different tables")


def arena(
    corpus: Annotated[
        str, typer.Option("--corpus", help="A corpus with tables ranked by people.")
    ] = "mini",
    perturbations: Annotated[
        Path | None,
        typer.Option(
            help="What `tables perturb` wrote. Default: tables of the corpus are perturbed.",
            show_default=False,
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            help="Another metric: of tables or texts, as in bertscore:model=MODEL, or "
            "file.py:NAME of a class or a function; may be repeated.",
            show_default=False,
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            help="Test P-Score and TabXEval with a model, too: a generator is asked about each "
            "ranked table.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out",
            "-o",
            help="Write an HTML page; a name in .json: the figures, for `report --arena`; "
            "may be repeated.",
            show_default=False,
        ),
    ] = None,
    split: Split = None,
    data_dir: DataDir = None,
    offline: Offline = False,
    as_json: AsJson = False,
    yes: Yes = False,
    debug: Debug = False,
) -> None:
    """Load, test, print, write."""
    from target_bench.data.select import load
    from target_bench.harness.arena.arena import run_arena
    from target_bench.harness.arena.arena_file import write_arena
    from target_bench.harness.arena.comparison_sets import ranked_sets
    from target_bench.harness.arena.judged_metrics import REQUESTS
    from target_bench.models.perturbations.drawing import read
    from target_bench.reporting.arena_page.page import write_page

    for path in out or ():
        check_output(path, "-o", "arena.html")
    dataset = load(corpus, split, data_dir)
    if judge is not None:
        ask_for_judge(judge, REQUESTS * sum(len(one.pairs) for one in ranked_sets(dataset)), yes)
    given = None if perturbations is None else read(perturbations)
    found = run_arena(dataset, metric or (), given, judge)
    if as_json:
        print_json(found.to_json())
    else:
        print_tables(_people(found), _errors(found))
        say("")
        say(_weights(found))
    for path in out or ():
        (write_arena if path.suffix.lower() == ".json" else write_page)(found, path)
        if not as_json:
            say(f"{path}: {path.stat().st_size / 1e3:,.0f} kB")


def ask_for_judge(judge: str, requests: int, yes: bool) -> None:
    """Ask before requests to a judge that may cost money.

    Args:
        judge: a generator, as on the command line.
        requests: how many are sent at most.
        yes: whether the user agreed before.

    Raises:
        ConfigError: the user does not want to pay, or cannot be asked.
    """
    from target_bench.core import registry
    from target_bench.core.settings import masked_settings
    from target_bench.harness.stages.consent import Estimate

    estimate = Estimate(masked_settings(judge), requests, None, None)
    ask_for_consent(registry.create("generator", judge), estimate, yes)


def _shown(value: float) -> str:
    return "–" if value != value else f"{value:.3f}"


def _people(found: "Arena") -> TextTable:
    names = ("Spearman", "95%", "Kendall", "weighted", "RBO", "footrule", "ties", "ms/table")
    rows = []
    for one in found.people:
        rho, *others = one.means.values()
        rows.append(
            [
                found.label(one.name),
                _shown(rho.value),
                f"{rho.low:.2f} to {rho.high:.2f}" if one.n else "–",
                *(_shown(mean.value) for mean in others),
                f"{one.tied:.2f}",
                f"{1000 * one.seconds / one.pairs:.2f}",
            ]
        )
    return TextTable(
        [Column("metric"), *(Column(n, right=True, below=n == "95%") for n in names)],
        rows,
        title=f"Agreement with people: {found.sets} sets of {found.corpus}",
        note="Of a metric that is lower for better tables, the negative is ranked. Footrule: a "
        "distance, lower is better. Ties: the share of sets with equal scores.",
    )


def _errors(found: "Arena") -> TextTable:
    names = ("sensitivity", "specificity", "AUC", "easy", "medium", "hard")
    rows = [
        [
            found.label(one.name),
            *(
                _shown(share.value)
                for share in (one.sensitivity, one.specificity, one.auc, *one.by_level.values())
            ),
        ]
        for one in found.errors
    ]
    return TextTable(
        [Column("metric"), *(Column(name, right=True) for name in names)],
        rows,
        title=f"Known changes: {found.perturbations:,} tables",
        note="Sensitivity: errors that cost something; specificity: harmless changes that cost "
        "nothing; AUC: how often the harmless one of two tables scores higher.",
    )


def _weights(found: "Arena") -> str:
    drawn = found.weights.drawn
    named = ", ".join(f"{name} {rho:.3f}" for name, rho in found.weights.named.items())
    return (
        f"TabXEval (rules) under other weights: Spearman {drawn[0]:.3f} to {drawn[-1]:.3f} over "
        f"{len(drawn)} draws (median {drawn[len(drawn) // 2]:.3f}); {named}"
    )
