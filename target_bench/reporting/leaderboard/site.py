"""The leaderboard as a static site: ``build(submissions, site)`` writes a page for each task.

A page is made of a board (``board.boards``), which lies beside it as JSON, and of the cards of its
entries. It needs no data and no network, and works from disk and on any web host.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from shlex import quote
from typing import Any

from target_bench.core.errors import ConfigError
from target_bench.core.files import atomic_write, parse_json
from target_bench.reporting.leaderboard.board import LEVEL, boards, corpus_title, for_boards
from target_bench.reporting.leaderboard.documents import REPORTED, read_reported, web_address
from target_bench.reporting.leaderboard.entry import Entry, entries
from target_bench.reporting.web import environment, page_parts, shown, today
from target_bench.runs.record_log import refused

MARKER = "target-bench-site.json"
"""Lists the files of a site, so that nothing else is ever replaced or removed."""

_FOLDER = Path(__file__).parent
_LONGEST = 20_000  # letters of the settings and the environment of a run


@dataclass(frozen=True, slots=True)
class Built:
    """A site that was written.

    Attributes:
        entries: how many are shown.
        rejected: how many are not, because they were rejected.
        pages: names of the pages, ``index.html`` first.
        size: bytes of all files.
    """

    entries: int
    rejected: int
    pages: Sequence[str]
    size: int


def build(
    submissions: Path, out: Path, *, title: str | None = None, submit_to: str | None = None
) -> Built:
    """Write the site of all entries in a folder, with what papers report (``*.reported.json``).

    Args:
        submissions: the folder of ``*.entry.json``, in sub-folders perhaps.
        out: the folder of the site: new, empty, or an earlier site and nothing else.
        title: of the site; default: that of the task, if all entries are about one.
        submit_to: the address that submissions are sent to, which the pages name.

    Raises:
        ConfigError: ``out`` holds more than an earlier site, or ``submit_to`` is not an address.
        DataError: an entry or a file of reported figures is none, or there is no entry.
        StoreError: the site cannot be written.
    """
    _check_folder(out, submissions)
    try:
        submit_to = submit_to and web_address(submit_to)
    except ValueError as error:
        raise ConfigError(f"--submit-to {submit_to!r:.200}: {error}") from None
    ids: dict[str, list[str]] = {}
    read = [for_boards(entry, ids) for entry in entries(submissions)]
    papers = [read_reported(path) for path in sorted(submissions.rglob(f"*{REPORTED}"))]
    accepted = {entry.id: entry for entry in read if entry.verdict != "rejected"}
    tasks = boards(accepted.values(), papers) or [_EMPTY]
    pages = {_page_name(i, board["task"]): board for i, board in enumerate(tasks)}
    site = {
        "site": title
        or (f"{tasks[0]['title'] if len(tasks) == 1 else 'target-bench'} leaderboard"),
        "tasks": [(name, board["title"]) for name, board in pages.items()],
        "rejected": len(read) - len(accepted),
        "papers": papers,
        "submit_to": submit_to,
        "newest": max((run.date for e in accepted.values() for run in e.runs), default=""),
    }
    files = {".nojekyll": ""}
    for name, board in pages.items():
        files[name] = _rendered(board, here=name, cards=_cards(accepted, board), **site)
        files[name.removesuffix("html") + "json"] = json.dumps(board, allow_nan=False) + "\n"
    size = _write(out, files)
    return Built(len(accepted), len(read) - len(accepted), list(pages), size)


_EMPTY: dict[str, Any] = {
    "task": "", "title": "target-bench", "cutoffs": [], "k": 10, "mean_of": [], "columns": [],
    "rows": [],
}  # fmt: skip


def _page_name(place: int, task: str) -> str:
    """Return a file name that every file system and address can have."""
    return f"{anchor(task)}.html" if place else "index.html"


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
    jinja.filters |= {"anchor": anchor, "title_of": corpus_title}
    return jinja.get_template("board.html.j2").render(
        board=board,
        level=LEVEL,
        corpus_title=corpus_title,
        commands=_commands(board),
        rank_groups=_rank_groups(board),
        **page_parts(_FOLDER, ["board.js"], "board.css"),
        date=today(),
        **site,
    )


def _rank_groups(
    board: Mapping[str, Any],
) -> list[tuple[Mapping[str, Any], list[tuple[int, int, list[str]]]]]:
    """Return, for each column of scores of two systems or more, first and last rank and systems."""
    times = Counter(row["name"] for row in board["rows"])
    columns = []
    for i, column in enumerate(board["columns"]):
        ranked = [(row["cells"][i], row) for row in board["rows"]]
        rows = [(c["value"], c["ranks"], row) for c, row in ranked if c and "ranks" in c]
        rows.sort(key=itemgetter(0), reverse=not column["lower"])
        groups: dict[tuple[int, int], list[str]] = {}
        for _, ranks, row in rows:
            name = row["name"] if times[row["name"]] == 1 else f"{row['name']} ({row['retriever']})"
            groups.setdefault(ranks, []).append(name)
        if len(rows) > 1:
            columns.append((column, [(*ranks, names) for ranks, names in groups.items()]))
    return columns


def _cards(entries_by_id: Mapping[str, Entry], board: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return each entry of a board, with its runs of this task and how they were made."""
    ids = sorted({row["entry"] for row in board["rows"] if row["entry"] is not None})
    cards = []
    for entry in (entries_by_id[id_] for id_ in ids):
        runs = []
        for run in entry.runs:
            if run.task == board["task"]:
                made = {
                    "retriever": run.retriever_identity,
                    "generator": run.generator_identity,
                    "environment": run.environment,
                }
                counts = (run.answers or run.counts).to_json()
                shown_counts = {name: n for name, n in counts.items() if n}
                runs.append((run, shown_counts, json.dumps(made, indent=1)[:_LONGEST]))
        cards.append({"entry": entry, "runs": runs})
    return cards


def _commands(board: Mapping[str, Any]) -> str:
    """Return the commands that make and verify a submission to a board of rankings."""
    plain = (c for c in board["columns"] if c["corpus"] and " + " not in c["data"])
    corpora = list(dict.fromkeys(column["corpus"] for column in plain)) or ["ottqa"]
    cutoffs = ",".join(map(str, board["cutoffs"])) or "10"
    return "\n".join(
        [
            f"target-bench run --task {quote(board['task'] or 'retrieval')} "
            + " ".join(f"--corpus {quote(name)}" for name in corpora)
            + " \\",
            f"    --retriever my_file.py:Mine --top-k {cutoffs}",
            "target-bench leaderboard submit RUN... -o team.tbs.zip --card card.yaml",
            "target-bench leaderboard verify team.tbs.zip",
        ]
    )


def _check_folder(out: Path, submissions: Path) -> None:
    """See that nothing but an earlier site is written over."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise ConfigError(f"-o {out}: is not a folder; name a new or empty one")
    if submissions.resolve().is_relative_to(out.resolve()):
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


def _write(out: Path, files: Mapping[str, str]) -> int:
    """Write all files, each whole or not at all, and return their bytes."""
    with refused("be written", out, "-o"):
        out.mkdir(parents=True, exist_ok=True)
        before = _listed(out) - set(files)
        marker = json.dumps({"files": sorted({*files, *before})}, indent=1)
        atomic_write(out / MARKER, marker.encode())
        for name, text in files.items():
            atomic_write(out / name, text.encode())
        for name in before:
            (out / name).unlink(missing_ok=True)
    return sum(len(text.encode()) for text in files.values())
