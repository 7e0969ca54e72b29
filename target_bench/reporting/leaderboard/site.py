"""The leaderboard as a static site: a page for each task, with its board beside it as JSON.

Every submission is verified and scored again. A page needs no network, and works from disk and on
any web host.
"""

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from shlex import quote
from typing import Any

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.files import atomic_write
from target_bench.core.observer import Observer
from target_bench.reporting.leaderboard.archive import SUFFIX, RefusedError
from target_bench.reporting.leaderboard.board import LEVEL, find_title, make_boards
from target_bench.reporting.leaderboard.verify import Submission, verify
from target_bench.reporting.web import environment, make_page_parts, make_visible, today
from target_bench.runs.record_log import storage_errors

GENERATOR = '<meta name="generator" content="target-bench leaderboard">'
"""Stands in every page, so that no other file is ever replaced or removed."""

_FOLDER = Path(__file__).parent
_EMPTY = {"task": "", "title": "target-bench", "cutoffs": [], "k": 10, "columns": [], "rows": []}


def build_site(
    folder: Path,
    out: Path,
    data_dir: Path | None = None,
    observer: Observer | None = None,
    minutes: float = 60.0,
) -> tuple[list[Submission], dict[Path, RefusedError]]:
    """Verify and score all submissions in a folder, and write the site of those accepted."""
    _find_old_pages(out)  # before the hours that verifying may take
    accepted: list[Submission] = []
    rejected: dict[Path, RefusedError] = {}
    for path in find_submissions(folder):
        try:
            accepted.append(verify(path, data_dir, observer, minutes))
        except RefusedError as error:
            rejected[path] = error
    write_site(accepted, out, len(rejected))
    return accepted, rejected


def find_submissions(folder: Path) -> list[Path]:
    """Return the submissions in a folder and its sub-folders, by their names."""
    if not folder.is_dir():
        raise DataError(f"{folder}: there is no such folder")
    paths: dict[str, Path] = {}
    for path in sorted(folder.rglob(f"*{SUFFIX}")):
        if path.is_symlink() or not path.is_file():
            continue
        other = paths.setdefault(path.name.casefold(), path)
        if other is not path:
            raise DataError(f"{path}: has the same name as {other}; rename one")
    if not paths:
        raise DataError(f"{folder}: holds no *{SUFFIX}; target-bench leaderboard submit packs one")
    return list(paths.values())


def write_site(submissions: Sequence[Submission], out: Path, rejected: int = 0) -> list[str]:
    """Write the pages of verified submissions; return their names, ``index.html`` first."""
    old = _find_old_pages(out)
    boards = make_boards(submissions) or [_EMPTY]
    pages: dict[str, Mapping[str, Any]] = {"index.html": boards[0]}
    pages |= {f"{to_anchor(board['task'])}.html": board for board in boards[1:]}
    site = {
        "site": f"{boards[0]['title'] if len(boards) == 1 else 'target-bench'} leaderboard",
        "tasks": [(name, board["title"]) for name, board in pages.items()],
        "rejected": rejected,
    }
    files = {}
    for name, board in pages.items():
        files[name] = _render(board, here=name, cards=_list_cards(submissions, board), **site)
        files[name.removesuffix("html") + "json"] = json.dumps(board, allow_nan=False) + "\n"
    with storage_errors("be written", out, "-o"):
        for path in old:
            if path.name not in files:
                path.unlink()
                path.with_suffix(".json").unlink(missing_ok=True)
        for name, text in files.items():
            atomic_write(out / name, text.encode())
    return list(pages)


def to_anchor(text: str) -> str:
    """Return lower-case letters, digits and hyphens for any text, another one for each."""
    if re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,59}", text):
        return text
    words = re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")[:40] or "x"
    return f"{words}-{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def _render(board: Mapping[str, Any], **site: Any) -> str:
    jinja = environment(_FOLDER)
    jinja.finalize = lambda value: make_visible(value) if type(value) is str else value
    # `quoted`: what the page tells to run is pasted into shells
    jinja.filters |= {"anchor": to_anchor, "title_of": find_title, "quoted": quote}
    return jinja.get_template("board.html.j2").render(
        board=board,
        level=LEVEL,
        **make_page_parts(_FOLDER, ["board.js"], "board.css"),
        date=today(),
        **site,
    )


def _list_cards(submissions: Sequence[Submission], board: Mapping[str, Any]) -> list[Any]:
    """Return each submission of a board, by id, with its runs of this task and their scores."""
    ids = {row["entry"] for row in board["rows"]}
    return [
        (
            submission,
            [
                (run, submission.scores[folder])
                for folder, run in submission.runs.items()
                if run.task == board["task"]
            ],
        )
        for submission in sorted(submissions, key=lambda submission: submission.id)
        if submission.id in ids
    ]


def _find_old_pages(out: Path) -> list[Path]:
    """Return the pages of the site that is there; none in a new or empty folder."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise ConfigError(f"-o {out}: is not a folder; name a new or empty one")
    files = sorted(out.iterdir()) if out.exists() else []
    old = [
        path
        for path in files
        if path.suffix == ".html"
        and not path.is_symlink()
        and GENERATOR.encode() in path.read_bytes()
    ]
    ours = {*old, *(path.with_suffix(".json") for path in old)}
    if others := [path.name for path in files if path not in ours]:
        raise ConfigError(
            f"-o {out}: holds {others[0]!a}, which is not of a site that target-bench built; name "
            "a new or empty folder"
        )
    return old
