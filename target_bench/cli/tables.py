"""``target-bench tables``: tables compared, perturbed, and the metrics that compare them tested."""

import typer

from target_bench.cli import table_arena

HELP = "Tables beside references: perturb them, test metrics of tables."

app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)

table_arena.add_to(app)
