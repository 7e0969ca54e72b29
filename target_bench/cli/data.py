"""``target-bench data pull``: fetch corpora."""

from typing import TYPE_CHECKING, Annotated

import typer

from target_bench.cli.command_line import (
    TerminalObserver,
    argument,
    group,
    option,
)
from target_bench.cli.output import INTERRUPTED

if TYPE_CHECKING:
    from target_bench.core.schema import CorpusInfo
    from target_bench.data.download import Download

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

    info = _info(name)
    if info:
        name = info.name
        split = split or [s for s in download.splits_of(name) if s in info.splits]
    with TerminalObserver() as observer:
        try:
            done = download.fetch(name, split, observer)
        except KeyboardInterrupt:  # what is here was said
            raise typer.Exit(INTERRUPTED) from None
    _print(done, info)


def _print(done: "Download", info: "CorpusInfo | None") -> None:
    n, size = len(done.files), sum(size for size, _ in done.files.values())
    facts = {"corpus": done.name, "splits": ", ".join(done.splits), "folder": str(done.folder)}
    facts |= {f"commit of {repository}": commit for repository, commit in done.commits.items()}
    facts["files"] = f"{n:,}, {size / 1e6:,.1f} MB, all verified; {len(done.fetched):,} fetched now"
    if info:
        to_mix_in = f"ottqa --distractors {done.name}"
        facts |= {"licence": info.licence, "citation": info.citation}
        facts["next"] = f"target-bench run {done.name if info.tasks else to_mix_in}"
    for fact, value in facts.items():
        typer.echo(f"{fact}: {value}")


def _info(name: str) -> "CorpusInfo | None":
    from target_bench.core.errors import ConfigError
    from target_bench.data.load import is_path, loader

    try:
        return None if is_path(name) else loader(name).info
    except ConfigError:
        return None
