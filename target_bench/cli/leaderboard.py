"""``target-bench leaderboard``: pack runs, verify submissions, build the site."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from target_bench.cli.command_line import (
    AsJson,
    DataDir,
    Offline,
    TerminalObserver,
    argument,
    group,
    option,
)
from target_bench.cli.output import print_json, results_alone
from target_bench.core.errors import ConfigError
from target_bench.core.run_config import RUNS
from target_bench.core.text_tables import counted, say

if TYPE_CHECKING:
    from target_bench.reporting.leaderboard.verify import Verification

app = group("Pack runs as a submission, verify submissions, build the site of verified ones.")

Minutes = Annotated[
    float,
    typer.Option(
        help="Time limit in minutes; a submission that takes longer is rejected.", min=0.0
    ),
]

BUILD_HELP = """Build the site of all submissions in a folder: a page for each task.

`target-bench leaderboard build submissions/ -o site/` verifies every *.tbs.zip, scores it again,
and shows those that are accepted. The site works from disk and on any static host. Beside each page
lies its board as JSON.
"""


@app.command("build", help=BUILD_HELP)
def build(
    submissions: Annotated[Path, argument("The folder of *.tbs.zip, in sub-folders perhaps.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the site.")] = Path(
        "site"
    ),
    submit_to: Annotated[
        str | None,
        option("Address that submissions are sent to, which the overview names.", metavar="URL"),
    ] = None,
    data_dir: DataDir = None,
    offline: Offline = False,
    minutes: Minutes = 60.0,
) -> None:
    """Verify the submissions, write the site, say what was written."""
    from target_bench.reporting.leaderboard.site import build as build_site

    with TerminalObserver() as observer, results_alone():
        shown, rejected, pages = build_site(
            submissions, out, submit_to, data_dir, observer, minutes
        )
    for verification in rejected:
        _print(verification)
    not_shown = f", {len(rejected):,} rejected and not shown" if rejected else ""
    entries, n_pages = counted(shown, "entry"), counted(len(pages), "page")
    typer.echo(f"{out / 'index.html'}: {entries}{not_shown}, {n_pages}")


SUBMIT_HELP = """Pack runs as a submission to a leaderboard.

`target-bench leaderboard submit runs/retrieval-ottqa-... -o team.tbs.zip --card card.yaml` packs
rankings and answers by the ids of queries and tables, and what the runs are of; no table and no
question. The retrievals that answers are built on are packed with them.
"""

CARD = """\
name: My retriever
authors: [Ann Other]
retriever_kind: dense     # lexical, sparse, late-interaction, hybrid, reranker, generative, other
parameters: 110M          # of all models together; 0 for none, null if not known
training_data: {{{corpora}}}   # for every corpus of the runs: yes, no or unknown
chosen_on: validation     # whose scores chose the settings: nothing, train, validation, test,
                          # other data, unknown
hardware: 2 cores
licence: Apache-2.0
open_weights: yes         # also of a system without weights
# paper: https://...      # may be left out, as may code and contact"""

VERIFY_HELP = """Check a submission and compute its scores from its predictions.

Exit code 0: accepted; 5: rejected; 2: it cannot be checked, as without the data.
"""

REJECTED = 5


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
    """Read the card, pack and say what was packed."""
    from target_bench.reporting.leaderboard import pack
    from target_bench.reporting.leaderboard.documents import read_card
    from target_bench.runs.find import find

    folders = [find(run, RUNS) for run in runs]
    if card is None:
        corpora = ", ".join(
            f"{name}: no" for name in pack.corpora_of(pack.with_retrievals(folders))
        )
        raise ConfigError(
            "--card: name a YAML file that describes the system, such as\n\n"
            f"{CARD.format(corpora=corpora)}"
        )
    path = pack.pack(folders, read_card(card), out)
    n = len(pack.with_retrievals(folders))
    typer.echo(f"{path}: {counted(n, 'run')}, {path.stat().st_size:,} bytes")


@app.command("verify", help=VERIFY_HELP)
def verify(
    file: Annotated[Path, argument("A submission.")],
    data_dir: DataDir = None,
    offline: Offline = False,
    minutes: Minutes = 60.0,
    as_json: AsJson = False,
) -> None:
    """Verify, print scores, findings and verdict."""
    from target_bench.reporting.leaderboard.verify import verify as verified

    with TerminalObserver() as observer, results_alone():
        if file.is_file():
            typer.echo(
                f"{file.name}: verifying it takes at most {minutes:g} minutes (--minutes)", err=True
            )
        verification = verified(file, data_dir, observer, minutes)
    print_json(verification.to_json()) if as_json else _print(verification)
    if verification.verdict == "rejected":
        raise typer.Exit(REJECTED)


def _print(verification: "Verification") -> None:
    from target_bench.metrics.scores import headline, spec_of, table_metrics

    for number, run in enumerate(verification.entry.runs if verification.entry else ()):
        shown = table_metrics(run.scores) if run.generator else [headline(run.scores)]
        scores = {name: run.scores[name] for name in shown}
        figures = ", ".join(f"{n} {spec_of(n, s).text(s.value)}" for n, s in scores.items())
        names = " + ".join(filter(None, (run.retriever, run.generator)))
        say(f"run {number}: {run.corpus} {run.split}, {run.task}, {names}: {figures}")
    for finding in verification.findings:
        where = "" if finding.run is None else f" (run {finding.run})"
        say(f"{finding.level}: {finding.check}{where}: {finding.message}")
    say(f"{verification.path.name}: {verification.verdict}")
