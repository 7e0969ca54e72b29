"""``target-bench data pull``: fetch corpora."""

from typing import Annotated

import typer

from target_bench.cli.options import argument, group, option
from target_bench.cli.output import INTERRUPTED
from target_bench.cli.progress import TerminalObserver

HELP = "Fetch corpora."

app = group(HELP)

PULL_HELP = """Fetch the data of a corpus: what is missing or damaged, verified byte by byte.

`run`, `search` and the like fetch the split they need by themselves; this fetches all at
once. FeTaQA, OTT-QA and TabFact come from their authors' repositories, other corpora from
TARGET's copies on the Hugging Face hub. --data-dir and $TARGET_BENCH_DATA win over what was
fetched. A download that was interrupted goes on with the files that are missing.
"""


@app.command("pull", help=PULL_HELP)
def pull(
    name: Annotated[str, argument("As in ottqa, fetaqa, spider.")],
    split: Annotated[
        list[str] | None,
        option("A split to fetch; may be repeated. Default: all that can be fetched."),
    ] = None,
) -> None:
    """Fetch, check, and say what is there."""
    from target_bench.data import download
    from target_bench.data.load import loader

    info = loader(name).info
    with TerminalObserver() as observer:
        try:
            done = download.fetch(info, split, observer)
        except KeyboardInterrupt:  # what is here was said
            raise typer.Exit(INTERRUPTED) from None
    n, size = len(done.files), sum(size for size, _ in done.files.values())
    facts = {"corpus": done.name, "splits": ", ".join(done.splits), "folder": str(done.folder)}
    facts |= {f"commit of {repository}": commit for repository, commit in done.commits.items()}
    facts["files"] = f"{n:,}, {size / 1e6:,.1f} MB, all verified; {len(done.fetched):,} fetched now"
    facts |= {"licence": info.licence, "citation": info.citation}
    to_mix_in = f"ottqa --distractors {done.name}"
    facts["next"] = f"target-bench run {done.name if info.tasks else to_mix_in}"
    for fact, value in facts.items():
        typer.echo(f"{fact}: {value}")
