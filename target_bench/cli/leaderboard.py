"""``target-bench leaderboard``: pack runs, verify submissions, build the site."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from target_bench.cli import options
from target_bench.cli.options import argument, group, option
from target_bench.cli.output import print_json, redirect_prints
from target_bench.cli.progress import TerminalObserver
from target_bench.core.errors import ConfigError
from target_bench.core.run_config import RUNS
from target_bench.core.text_tables import count_noun, say

if TYPE_CHECKING:
    from target_bench.reporting.leaderboard.verify import Submission

REJECTED = 5

app = group("Pack runs as a submission, verify submissions, build the site of verified ones.")

Minutes = Annotated[
    float,
    typer.Option(
        help="Time limit in minutes; a submission that takes longer is rejected.", min=0.0
    ),
]

CARD = """\
name: My retriever
authors: [Ann Other]
kind: dense            # lexical, sparse, late-interaction, hybrid, reranker, generative, other
parameters: 110M       # of all models together; 0 for none, null if not known
trained_on: {{{corpora}}}   # for every corpus of the runs: yes, no or unknown
chosen_on: validation  # whose scores chose the settings: nothing, train, validation, test,
                       # other data, unknown
licence: Apache-2.0
# paper: https://...   # may be left out, as may code, predictions and note"""

BUILD_HELP = """Build the site of all submissions in a folder: a page for each task.

`target-bench leaderboard build submissions/ -o site/` verifies every *.tbs.zip, scores it again,
and shows those that are accepted. The site works from disk and on any static host. Beside each page
lies its board as JSON.
"""

SUBMIT_HELP = """Pack runs as a submission to a leaderboard.

`target-bench leaderboard submit runs/retrieval-ottqa-... -o team.tbs.zip --card card.yaml` packs
rankings and answers by the ids of queries and tables, and what the runs are of; no table and no
question. The retrievals that answers are built on are packed with them.
"""

VERIFY_HELP = """Check a submission and compute its scores from its predictions.

Exit code 0: accepted; 5: rejected; 2: it cannot be checked, as without the data.
"""


@app.command("build", help=BUILD_HELP)
def build(
    submissions: Annotated[Path, argument("The folder of *.tbs.zip, in sub-folders perhaps.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the site.")] = Path(
        "site"
    ),
    data_dir: options.DataDir = None,
    offline: options.Offline = False,
    minutes: Minutes = 60.0,
) -> None:
    """Verify the submissions, write the site, say what was written."""
    from target_bench.reporting.leaderboard.site import build_site

    with TerminalObserver() as observer, redirect_prints():
        accepted, rejected = build_site(submissions, out, data_dir, observer, minutes)
    for path, error in rejected.items():
        say(f"{path.name}: rejected: {error}")
    more = f", {len(rejected):,} rejected and not shown" if rejected else ""
    typer.echo(f"{out / 'index.html'}: {count_noun(len(accepted), 'entry')}{more}")


@app.command("submit", help=SUBMIT_HELP)
def submit(
    runs: Annotated[
        list[str], argument("Run folders, their ids, or how these begin.", metavar="RUN")
    ],
    out: Annotated[Path, option("The file, as in team.tbs.zip.", "-o", "--out")],
    card: Annotated[
        Path | None,
        option("A YAML file that describes the system; without it, one to fill in is shown."),
    ] = None,
) -> None:
    """Pack runs with a card; a run that cannot be submitted is refused before a card is read."""
    from target_bench.reporting.leaderboard.card import read_card
    from target_bench.reporting.leaderboard.pack import pack, publish_all
    from target_bench.runs.find import find_run

    published = publish_all([find_run(run, RUNS) for run in runs])  # a refused run needs no card
    if card is None:
        names = sorted({run.corpus for run, _ in published.values()})
        corpora = ", ".join(f"{name}: no" for name in names)
        raise ConfigError(
            "--card: name a YAML file that describes the system, such as\n\n"
            f"{CARD.format(corpora=corpora)}"
        )
    path = pack(published, read_card(card), out)
    typer.echo(f"{path}: {count_noun(len(published), 'run')}, {path.stat().st_size:,} bytes")


@app.command("verify", help=VERIFY_HELP)
def verify(
    file: Annotated[Path, argument("A submission.")],
    data_dir: options.DataDir = None,
    offline: options.Offline = False,
    minutes: Minutes = 60.0,
    as_json: options.AsJson = False,
) -> None:
    """Verify, print scores, notes and verdict."""
    from target_bench.reporting.leaderboard import verify as verifying
    from target_bench.reporting.leaderboard.archive import RefusedError

    try:
        with TerminalObserver() as observer, redirect_prints():
            if file.is_file():
                typer.echo(
                    f"{file.name}: verifying it takes at most {minutes:g} minutes (--minutes)",
                    err=True,
                )
            submission = verifying.verify(file, data_dir, observer, minutes)
    except RefusedError as error:
        if as_json:
            print_json({"file": file.name, "verdict": "rejected", "reason": str(error)})
        else:
            say(f"{file.name}: rejected: {error}")
        raise typer.Exit(REJECTED) from None
    if as_json:
        print_json({"file": file.name, "verdict": "accepted", **submission.to_json()})
        return
    _print_scores(submission)
    say(f"{file.name}: accepted")


def _print_scores(submission: "Submission") -> None:
    from target_bench.metrics.scores import find_main_metric, find_spec, list_column_metrics

    for folder, run in submission.runs.items():
        scores = submission.scores[folder]
        names = list_column_metrics(scores) if run.generator else [find_main_metric(scores)]
        figures = ", ".join(f"{n} {find_spec(n, scores[n]).text(scores[n].value)}" for n in names)
        systems = " + ".join(filter(None, (run.retriever, run.generator)))
        say(f"{run.corpus} {run.split}, {run.task}, {systems}: {figures}")
    for note in submission.notes:
        say(f"note: {note}")
