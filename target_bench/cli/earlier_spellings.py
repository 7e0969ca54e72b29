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

_SCRIPTS = {
    "tables arena": "python -m benchmarks.table_metrics.table2",
    "tables perturb": "python -m benchmarks.table_metrics.known_errors",
    "train set-size": "python -m examples.training.set_size",
    "train instructions": "python -m examples.struc_bench.instructions",
    "train struct": "python -m examples.struc_bench.tune",
    "train": "python -m examples.training.train",
}
"""Command -> the script of the repository that does today what it did."""

GONE = {
    "runs diff": "two manifests differ as files do: diff RUN/manifest.json OTHER/manifest.json",
    **{
        name: f"in a checkout of the repository run `{script}` (--help lists its options)"
        for name, script in _SCRIPTS.items()
    },
}
"""Command -> what to do instead."""

_TASK_SETTINGS = {
    "--engine": "--task text-to-sql:engine=",
    "--rule": "--task text-to-sql:rule=",
    "--timeout": "--task text-to-sql:timeout=",
    "--repeats": "--task text-to-sql:repeats=",
    "--workers": "--task text-to-sql:workers=",
    "--labels": "--task fact-verification:labels=",
    "--bertscore": "--task qa:bertscore=",
}

MOVED_OPTIONS = {
    "run": _TASK_SETTINGS,
    "score": _TASK_SETTINGS,
    "generate": _TASK_SETTINGS,
    "compare": {"--markdown": "--format markdown"},
}
"""Command -> its earlier options -> what is written today; of what ends in ``=``, the value too."""
