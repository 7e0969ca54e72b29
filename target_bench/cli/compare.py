"""``target-bench compare``: stored runs side by side, with tests of their differences."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from target_bench.cli.options import AsJson, By, Debug
from target_bench.core.errors import ConfigError

if TYPE_CHECKING:
    from target_bench.reporting.comparison import Comparison

HELP = """Compare stored runs on the same queries: intervals, paired tests, effect sizes.

`target-bench compare RUN RUN --metric recall@10 --slice gold_tables>1`. A run is a run folder, its
name under --out, the id at the end of that, or the first characters of either.
"""


class Test(StrEnum):
    """The paired tests."""

    randomization = "randomization"
    bootstrap = "bootstrap"


RunNames = Annotated[list[str], typer.Argument(metavar="RUN...", show_default=False)]
RunsIn = Annotated[Path, typer.Option("--out", help="The folder of all runs.")]
Slices = Annotated[
    list[str] | None,
    typer.Option(
        "--slice",
        help="Only these queries, as in difficulty=hard or gold_tables>1 (= != > >= < <=); a name "
        "alone, as in db_id, makes a row of each value; may be repeated.",
        show_default=False,
    ),
]


def compare(
    runs: RunNames,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            help="A metric; may be repeated. Default: the main ones of the task.",
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="What the others are compared with. Default: the first.", metavar="RUN"),
    ] = None,
    slices: Slices = None,
    by: By = None,
    test: Annotated[Test, typer.Option(help="The paired test.")] = Test.randomization,
    resamples: Annotated[int, typer.Option(help="How many samples a test draws.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Of the random numbers.")] = 0,
    out: RunsIn = Path("runs"),
    as_json: AsJson = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX (booktabs).")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    debug: Debug = False,
) -> None:
    """Print the comparison."""
    if as_json + latex + markdown > 1:
        raise ConfigError("choose one of --json, --latex and --markdown")
    from target_bench.reporting.compare import compare as compared

    comparison = compared(
        runs,
        metrics or (),
        baseline,
        slices or (),
        by=by or (),
        test=test.value,
        resamples=resamples,
        seed=seed,
        out=out,
    )
    _print(comparison, as_json, latex, markdown)


def _print(comparison: "Comparison", as_json: bool, latex: bool, markdown: bool) -> None:
    from target_bench.reporting import comparison as tables

    if as_json:
        json.dump(comparison.to_json(), sys.stdout, ensure_ascii=False, indent=2)
        sys.stdout.write("\n")
    elif latex or markdown:
        typer.echo(tables.latex(comparison) if latex else tables.markdown(comparison))
    else:
        from target_bench.core.text_tables import say, terminal_width

        say(tables.text(comparison, terminal_width()))
