"""``target-bench pull``: TARGET's data from the Hugging Face hub."""

from typing import TYPE_CHECKING, Annotated

import typer

from target_bench.cli.options import Debug

if TYPE_CHECKING:
    from target_bench.core.schema import CorpusInfo
    from target_bench.data.hub import Pull

HELP = """Fetch TARGET's copy of a corpus from the Hugging Face hub (extra: hub).

Every file is checked. From then on the data is used wherever the corpus is named,
without the hub, unless --data-dir or $TARGET_BENCH_DATA has it. The commits of the
repositories are not known to target-bench yet, so the default revision is main as it
is today; the commit it stands for is printed and recorded, and --revision asks for it
again. A second pull checks what is there and fetches damaged files again. HF_TOKEN,
HF_ENDPOINT and proxies work as for huggingface_hub.
"""

_SHOWN = 20  # files
_INTERRUPTED = 130


def pull(
    name: Annotated[str, typer.Argument(show_default=False, help="As in ottqa, fetaqa, spider.")],
    revision: Annotated[
        list[str] | None,
        typer.Option(
            "--revision",
            help="A branch, tag or commit; REPOSITORY=REVISION for one repository, as in "
            "ottqa-corpus=4f2c...; may be repeated. Default: main.",
            show_default=False,
        ),
    ] = None,
    debug: Debug = False,
) -> None:
    """Fetch, check, and say what is there."""
    from target_bench.data import hub

    try:
        found = hub.pull(name, revision or (), say=lambda text: typer.echo(text, err=True))
    except KeyboardInterrupt:
        typer.echo(
            "Interrupted. Nothing was left half-written; the same command starts again.", err=True
        )
        raise typer.Exit(_INTERRUPTED) from None
    _print(found)


def _print(found: "Pull") -> None:
    from target_bench.core.text_tables import Column, TextTable, print_tables

    info = _info(found.name)
    facts = {"corpus": found.name, "folder": str(found.folder), "state": _state(found)}
    facts |= {f"commit of {r.id}": r.commit for r in found.repositories}
    facts["licence"] = info.licence if info else _licences(found)
    if info:
        facts["citation"] = info.citation
    for fact, value in facts.items():
        typer.echo(f"{fact}: {value}")
    files = list(found.files.items())
    rows = [[path, f"{file.size:,}"] for path, file in files[:_SHOWN]]
    print_tables(TextTable([Column("file"), Column("bytes", right=True)], rows))
    if len(files) > _SHOWN:
        typer.echo(f"and {len(files) - _SHOWN} more: {found.folder / 'source.json'}")
    total = sum(file.size for _, file in files)
    typer.echo(f"{len(files)} files, {total / 1e6:,.1f} MB")
    if info:
        typer.echo(f"Next: target-bench describe corpus {found.name}")
    else:
        typer.echo(f"target-bench has no corpus {found.name} yet; use the files in the folder.")


def _state(found: "Pull") -> str:
    n, fetched = len(found.files), len(found.fetched)
    if fetched == n:
        return f"fetched, {n} files checked"
    if fetched:
        return f"was here; {fetched} of {n} files were damaged and fetched again"
    return f"was here; {n} files checked, nothing fetched"


def _info(name: str) -> "CorpusInfo | None":
    from target_bench.core.errors import ConfigError
    from target_bench.data import sources

    try:
        return sources.loader(name).info
    except ConfigError:
        return None


def _licences(found: "Pull") -> str:
    """The licences that the repositories' README.md files declare."""
    named: dict[str, None] = {}
    for path in found.files:
        if path.count("/") == 1 and path.endswith("/README.md"):
            named |= dict.fromkeys(_declared((found.folder / path).read_bytes()))
    return ", ".join(named) or "none is declared; see the pages of the repositories"


def _declared(readme: bytes) -> list[str]:
    """The field ``license`` of a README.md's front matter."""
    import yaml

    start, _, rest = readme.decode(errors="replace").partition("---")
    try:
        front = yaml.safe_load(rest.partition("\n---")[0]) if not start.strip() else None
    except yaml.YAMLError:
        return []
    licence = front.get("license") if isinstance(front, dict) else None
    return [str(each) for each in (licence if isinstance(licence, list) else [licence]) if each]
