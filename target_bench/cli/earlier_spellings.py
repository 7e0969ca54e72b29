"""Commands and options that earlier versions had, answered with what is written today."""

MOVED_COMMANDS = {
    "submit": "leaderboard submit",
    "verify": "leaderboard verify",
    "pull": "data pull",
    "cache": "data cache",
    "verify-gold": "data verify-gold",
    "export": "runs export",
    "ratings": "labels",
    "ratings form": "labels rate",
    "ratings read": "labels rated",
}
"""Command at the top -> where it stands now."""

MOVED_OUT = {
    "tables arena": "python -m benchmarks.table_metrics.table2",
    "tables perturb": "python -m benchmarks.table_metrics.known_errors",
    "train set-size": "python -m examples.training.set_size",
    "train instructions": "python -m examples.struc_bench.instructions",
    "train struct": "python -m examples.struc_bench.tune",
    "train": "python -m examples.training.train",
}
"""Command -> the script of the repository that does today what it did."""

MOVED_OPTIONS = {
    "--engine": "text-to-sql:engine",
    "--rule": "text-to-sql:rule",
    "--timeout": "text-to-sql:timeout",
    "--repeats": "text-to-sql:repeats",
    "--workers": "text-to-sql:workers",
    "--labels": "fact-verification:labels",
    "--bertscore": "qa:bertscore",
}
"""Option of ``run``, ``score`` and ``generate`` -> the setting of a task that it has become."""
