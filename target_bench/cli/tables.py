"""``target-bench tables``: tables compared with their references, and what measures that."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from target_bench.cli import options
from target_bench.cli.options import group, option
from target_bench.cli.output import ask_for_consent, check_output, print_json
from target_bench.core.files import atomic_write
from target_bench.core.text_tables import print_tables, visible

if TYPE_CHECKING:
    from target_bench.tables.answer_tables import AnswerTable
    from target_bench.tables.comparison import TableComparison

HELP = "Compare tables with their references."

app = group(HELP)

COMPARE_HELP = """Compare a table with its reference: what is missing, extra or different, and why.

`target-bench tables compare reference.csv prediction.md --html comparison.html`. A file is CSV,
TSV, Parquet or JSON lines, a workbook (.xlsx, .ods), or a text with a table: Markdown, HTML, LaTeX
or JSON. Of a file with several tables or sheets, FILE:2 is the second.
"""


@app.command("compare", help=COMPARE_HELP)
def compare(
    reference: Annotated[Path, typer.Argument(help="The table as it should be.")],
    prediction: Annotated[Path, typer.Argument(help="The table as it is.")],
    table: Annotated[
        int | None,
        option("Which table of files with several, from 1; FILE:2 is that of one."),
    ] = None,
    generator: Annotated[
        str | None,
        option(
            "A language model that checks the alignment and the texts that differ, as in "
            "openai:model=NAME. Default: rules alone."
        ),
    ] = None,
    html: Annotated[Path | None, option("Write the comparison as a page, too.")] = None,
    as_json: options.AsJson = False,
    yes: options.Yes = False,
) -> None:
    """Read both tables, compare them, print the comparison."""
    from target_bench.data.formats.single_table import read_single_table
    from target_bench.tables.comparison import compare_tables
    from target_bench.tables.comparison.show import page, text_tables

    if html is not None:
        check_output(html, "--html", "comparison.html")
    sides = read_single_table(reference, table), read_single_table(prediction, table)
    for side in sides:
        for note in side.notes:
            typer.echo(visible(f"{side.name}: {note}."), err=True)
    pair = sides[0].table, sides[1].table
    comparison = (
        compare_tables(*pair) if generator is None else _compare_by_generator(generator, yes, *pair)
    )
    title = f"{sides[0].name} and {sides[1].name}"
    if as_json:
        print_json(comparison.to_json())
    else:
        print_tables(*text_tables(comparison, title))
    if html is not None:
        from target_bench.runs.record_log import storage_errors

        with storage_errors("be written", html, "--html"):
            atomic_write(html, page(comparison, title).encode("utf-8", "replace"))


def _compare_by_generator(
    generator: str, yes: bool, reference: "AnswerTable", prediction: "AnswerTable"
) -> "TableComparison":
    from target_bench.core import registry
    from target_bench.core.credentials import mask_settings
    from target_bench.harness.consent import Estimate
    from target_bench.models.comparison_judge import REQUESTS, compare_by_model

    estimate = Estimate(mask_settings(generator), REQUESTS)
    ask_for_consent(registry.create("generator", generator), estimate, yes)
    judged = compare_by_model(generator, {"tables": (reference, prediction)})["tables"]
    for part in judged.unread:
        typer.echo(
            f"Warning: the model's reply about the {part} is not in the requested form and is "
            "ignored; the findings of the rules stand.",
            err=True,
        )
    return judged.comparison
