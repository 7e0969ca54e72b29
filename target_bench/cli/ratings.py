"""``target-bench ratings``: forms in which people rate answers, and what came back."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from target_bench.cli.command_line import AsJson, DataDir, Debug, Offline
from target_bench.cli.output import print_json
from target_bench.core.text_tables import Column, TextTable, print_tables, say
from target_bench.harness.run_options import RUNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from target_bench.reporting.ratings.criteria import CriteriaName
    from target_bench.reporting.ratings.rating_agreement import Agreement

HELP = "Ratings of answers by people: write a form, read what was filled in."

app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)

RunName = Annotated[str, typer.Argument(metavar="RUN", show_default=False)]


class Criteria(StrEnum):
    """What people are asked."""

    struc_bench = "struc-bench"
    totto = "totto"


FORM_HELP = """Write a form about the answers of a run: one HTML file that works offline.

`target-bench ratings form RUN -o form.html --sample 100`; what people fill in they save as JSON,
and `target-bench ratings read RUN ratings-*.json` reads it.
"""


@app.command("form", help=FORM_HELP)
def form(
    run: RunName,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file.")] = Path("form.html"),
    criteria: Annotated[
        Criteria | None,
        typer.Option(
            help="What is asked. struc-bench: content and format, 1 to 10; totto: fluency, "
            "faithfulness, coverage. Default: totto where cells are highlighted.",
            show_default=False,
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(help="How many answers, drawn at random. Default: all.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the draw and of the order of answers.")] = 0,
    data_dir: DataDir = None,
    offline: Offline = False,
    debug: Debug = False,
) -> None:
    """Open the run, load its data, write the file."""
    from target_bench.reporting.ratings.rating_form import write_form
    from target_bench.runs.find import find

    asked: CriteriaName | None = None if criteria is None else criteria.value
    path = write_form(find(run, RUNS), out, asked, sample=sample, seed=seed, data_dir=data_dir)
    typer.echo(f"{path}: {path.stat().st_size / 1e6:,.1f} MB")


READ_HELP = """Read ratings, and print their correlations with every metric of the run.

Pearson's r, Spearman's rho and Kendall's tau-b over the rated answers, each with its 95% interval.
"""


@app.command("read", help=READ_HELP)
def read(
    run: RunName,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="What forms about the run saved.", show_default=False
        ),
    ],
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Check the files, correlate, print."""
    from target_bench.reporting.ratings.rating_agreement import agreement
    from target_bench.reporting.ratings.read_ratings import read_all
    from target_bench.runs.find import find
    from target_bench.runs.result import read_run

    stored = read_run(find(run, RUNS))
    found = agreement(stored, read_all(files, stored))
    if as_json:
        print_json(found.to_json())
        return
    say(f"{found.answers:,} answers rated by {found.raters}")
    for name, mean in found.means.items():
        say(f"{name}: mean {mean:.2f}")
    print_tables(_table("metric", found.metrics))
    if found.between:
        print_tables(_table("raters", found.between))


def _table(what: str, found: "Sequence[Agreement]") -> TextTable:
    names = ("criterion", what, "answers", "Pearson", "Spearman", "Kendall")
    rows = [
        [
            one.criterion,
            one.beside,
            f"{one.found.n:,}",
            *map(str, (one.found.pearson, one.found.spearman, one.found.kendall)),
        ]
        for one in found
    ]
    return TextTable([Column(name, right=name == "answers") for name in names], rows)
