"""The leaderboard as a static site: ``build(submissions, site)`` writes a page for each task.

Every submission is verified and scored again. A page is made of a board (``board.boards``), which
lies beside it as JSON, and of the cards of its entries. It needs no network, and works from disk
and on any web host.
"""

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from shlex import quote
from typing import Any

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.files import atomic_write, parse_json
from target_bench.core.observer import Observer
from target_bench.reporting.leaderboard.board import LEVEL, boards, corpus_title
from target_bench.reporting.leaderboard.documents import web_address
from target_bench.reporting.leaderboard.entry import Entry
from target_bench.reporting.leaderboard.submission import SUFFIX
from target_bench.reporting.leaderboard.verify import Verification, verify
from target_bench.reporting.web import environment, page_parts, shown, today
from target_bench.runs.record_log import refused

MARKER = "target-bench-site.json"
"""Lists the files of a site, so that nothing else is ever replaced or removed."""

_FOLDER = Path(__file__).parent
_LONGEST = 20_000  # letters of the settings and the environment of a run
_EMPTY: dict[str, Any] = {
    "task": "", "title": "target-bench", "cutoffs": [], "k": 10, "columns": [],
    "rows": [],
}  # fmt: skip


def build(
    submissions: Path,
    out: Path,
    submit_to: str | None = None,
    data_dir: Path | None = None,
    observer: Observer | None = None,
    minutes: float = 60.0,
) -> tuple[int, list[Verification], list[str]]:
    """Verify and score all submissions in a folder, and write the site of the accepted ones.

    Args:
        submissions: the folder of ``*.tbs.zip``, in sub-folders perhaps.
        out: the folder of the site: new, empty, or an earlier site and nothing else.
        submit_to: the address that submissions are sent to, which the pages name.
        data_dir: as for ``evaluate``.
        observer: gets progress and warnings.
        minutes: how long each submission may take.

    Returns:
        How many entries are shown, the verifications of those that are rejected and not shown,
        and the names of the pages, ``index.html`` first.

    Raises:
        ConfigError: ``out`` holds more than an earlier site, or ``submit_to`` is not an address.
        DataError: there is no submission, two have one name, or the data are not here.
        StoreError: the site cannot be written.
    """
    _check_folder(out, submissions)
    try:
        submit_to = submit_to and web_address(submit_to)
    except ValueError as error:
        raise ConfigError(f"--submit-to {submit_to!r:.200}: {error}") from None
    verified = [verify(path, data_dir, observer, minutes) for path in find_submissions(submissions)]
    shown = [each.entry for each in verified if each.entry and each.verdict == "accepted"]
    rejected = [each for each in verified if each.verdict == "rejected"]
    return len(shown), rejected, write_site(shown, out, submit_to, len(rejected))


def find_submissions(folder: Path) -> list[Path]:
    """Return the submissions in a folder and its sub-folders, by their names.

    Raises:
        DataError: there is no such folder or no submission in it, or two have the same name.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: there is no such folder")
    paths: dict[str, Path] = {}
    for path in sorted(folder.rglob(f"*{SUFFIX}")):
        if path.is_symlink() or not path.is_file():
            continue
        other = paths.setdefault(path.name.casefold(), path)
        if other is not path:
            raise DataError(f"{path}: is called as {other} is; each submission has its own name")
    if not paths:
        raise DataError(f"{folder}: holds no *{SUFFIX}; target-bench leaderboard submit packs one")
    return list(paths.values())


def write_site(
    entries: Sequence[Entry], out: Path, submit_to: str | None = None, rejected: int = 0
) -> list[str]:
    """Write the pages of verified entries; return their names, ``index.html`` first.

    Raises:
        ConfigError: the folder holds more than an earlier site.
        StoreError: the site cannot be written.
    """
    _check_folder(out)
    by_id = {entry.id: entry for entry in entries}
    tasks = boards(by_id.values()) or [_EMPTY]
    pages = {f"{anchor(board['task'])}.html" if i else "index.html": board
             for i, board in enumerate(tasks)}  # fmt: skip
    site = {
        "site": f"{tasks[0]['title'] if len(tasks) == 1 else 'target-bench'} leaderboard",
        "tasks": [(name, board["title"]) for name, board in pages.items()],
        "rejected": rejected,
        "submit_to": submit_to,
        "newest": max((run.date for e in by_id.values() for run in e.runs), default=""),
    }
    files = {".nojekyll": ""}
    for name, board in pages.items():
        files[name] = _rendered(board, here=name, cards=_cards(by_id, board), **site)
        files[name.removesuffix("html") + "json"] = json.dumps(board, allow_nan=False) + "\n"
    with refused("be written", out, "-o"):
        out.mkdir(parents=True, exist_ok=True)
        before = _listed(out) - set(files)
        marker = json.dumps({"files": sorted({*files, *before})}, indent=1)
        for name, text in {MARKER: marker, **files}.items():
            atomic_write(out / name, text.encode())
        for name in before:
            (out / name).unlink(missing_ok=True)
    return list(pages)


def anchor(text: str) -> str:
    """Return lower-case letters, digits and hyphens for any text, another one for each."""
    if re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,59}", text):
        return text
    words = re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")[:40] or "x"
    return f"{words}-{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def _rendered(board: Mapping[str, Any], **site: Any) -> str:
    jinja = environment(_FOLDER)
    jinja.finalize = lambda value: (
        "\n".join(map(shown, value.split("\n"))) if type(value) is str else value
    )
    # what the page tells to run is pasted into shells
    jinja.filters |= {"anchor": anchor, "title_of": corpus_title, "quoted": quote}
    return jinja.get_template("board.html.j2").render(
        board=board,
        level=LEVEL,
        **page_parts(_FOLDER, ["board.js"], "board.css"),
        date=today(),
        **site,
    )


def _cards(entries_by_id: Mapping[str, Entry], board: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """Return each entry of a board, with its runs of this task and how they were made."""
    cards = []
    for name in sorted({row["entry"] for row in board["rows"] if row["entry"] is not None}):
        runs = []
        for run in entries_by_id[name].runs:
            if run.task == board["task"]:
                made = {
                    "retriever": run.retriever_identity,
                    "generator": run.generator_identity,
                    "environment": run.environment,
                }
                counts = {n: x for n, x in (run.answers or run.counts).to_json().items() if x}
                runs.append((run, counts, json.dumps(made, indent=1)[:_LONGEST]))
        cards.append((entries_by_id[name], runs))
    return cards


def _check_folder(out: Path, submissions: Path | None = None) -> None:
    """See that nothing but an earlier site is written over."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise ConfigError(f"-o {out}: is not a folder; name a new or empty one")
    if submissions is not None and submissions.resolve().is_relative_to(out.resolve()):
        raise ConfigError(f"-o {out}: holds the submissions; name another folder")
    files = {str(p.relative_to(out)) for p in out.rglob("*") if p.is_symlink() or not p.is_dir()}
    others = sorted(files - _listed(out) - {MARKER})
    if others:
        raise ConfigError(
            f"-o {out}: holds {others[0]!a}, which is not of a site that target-bench built; name "
            "a new or empty folder"
        )


def _listed(out: Path) -> set[str]:
    """Return the files that the site there says are its own."""
    try:
        names = map(str, parse_json((out / MARKER).read_bytes())["files"])
        return {name for name in names if Path(name).name == name}
    except (OSError, ValueError, KeyError, TypeError):
        return set()
