"""Building the site: entries in, a folder of pages out, as a whole or not at all.

The folder is replaced only if nothing but a site is lost.
"""

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.files import exclusive_lock, parse_json
from target_bench.core.observer import Observer
from target_bench.core.version import __version__
from target_bench.harness.arena.arena_file import read_arenas
from target_bench.reporting.arena_page.arena_view import (
    FOLDER,
    ArenaView,
    arena_context,
    arena_style,
    site_views,
)
from target_bench.reporting.leaderboard.card import is_link
from target_bench.reporting.leaderboard.entry import Entry, entries
from target_bench.reporting.leaderboard.reported import SUFFIX, read_reported
from target_bench.reporting.leaderboard.site import boards
from target_bench.reporting.leaderboard.site.boards import Shown
from target_bench.reporting.leaderboard.site.entry_pages import (
    RunView,
    Slicer,
    Sums,
    hardest,
    page_names,
    task_page,
    view,
)
from target_bench.reporting.leaderboard.site.groups import (
    LEVEL,
    Groups,
    chosen_baseline,
    corpus_title,
    resamples,
    versions,
)
from target_bench.reporting.leaderboard.site.mean_group import mean_over
from target_bench.reporting.web import asset, environment, security_policy, shown, today
from target_bench.runs.record_log import cannot

_FOLDER = Path(__file__).parent
_BOARD_SCRIPTS = ("charts.js", "filters.js", "table.js", "copying.js", "board.js")
METRICS_PAGE = "table-metrics.html"


@dataclass(frozen=True, slots=True)
class Built:
    """A site that was written.

    Attributes:
        folder: where it is.
        entries: how many are shown.
        rejected: how many are not, because they were rejected.
        pages: how many pages there are.
        size: bytes of all files.
    """

    folder: Path
    entries: int
    rejected: int
    pages: int
    size: int


def build(
    submissions: Path,
    out: Path,
    *,
    title: str | None = None,
    baseline: str | None = None,
    arenas: Sequence[Path] = (),
    submit_to: str | None = None,
    observer: Observer | None = None,
) -> Built:
    """Write the site of all entries in a folder, with what papers report (``*.reported.json``).

    It needs no data and no network. The folder is replaced as a whole, and only if it is empty or
    an earlier site.

    Args:
        submissions: the folder of ``*.entry.json``, in sub-folders perhaps.
        out: the folder of the site.
        title: of the overview; default: that of the task, if all entries are about one.
        baseline: id of the entry that the others are compared with; default: the entry ``bm25``,
            else the first with a retriever ``bm25``.
        arenas: files of ``tables arena``, for a board of metrics of tables.
        submit_to: the address that submissions are sent to, which the overview names.
        observer: gets progress.

    Raises:
        ConfigError: ``out`` holds more than an earlier site, there is no such baseline, or
            ``submit_to`` is not an address.
        DataError: an entry is none, or there is none; a file of an arena or of reported figures
            is none.
        StoreError: the site cannot be written.
    """
    observer = observer or Observer()
    check_folder(out, submissions)
    if submit_to is not None and not is_link(submit_to):
        raise ConfigError(f"--submit-to {submit_to!r:.200}: should begin with https:// or http://")
    shown_arenas = site_views(read_arenas(arenas)) if arenas else []
    observer.stage("leaderboard: read entries")
    read = _read(submissions, shown_arenas)
    first = chosen_baseline(read.entries, baseline)
    observer.stage("leaderboard: test differences")
    rankings = read.groups.rankings()
    mean = mean_over(rankings) if len(rankings) > 1 else None
    tests = boards.tested([*read.groups, *([mean.group] if mean else [])], first)
    names = page_names(read.entries)
    papers = [read_reported(path) for path in sorted(submissions.rglob(f"*{SUFFIX}"))]
    board = Shown(read.entries, names, read.groups, tests, first, mean, papers)
    observer.stage("leaderboard: write pages", total=len(board.entries))
    pages = _Pages(board, read, shown(title or read.groups.heading), submit_to, observer)
    size = replace_folder(out, pages.files())
    n = 1 + bool(arenas) + len(board.groups.tasks()) + len(board.entries)
    return Built(out, len(board.entries), read.rejected, n, size)


@dataclass(frozen=True, eq=False)
class _Read:
    entries: dict[str, Entry]
    views: dict[str, list[RunView]]
    groups: Groups
    rejected: int
    arenas: Sequence[ArenaView]


def _read(folder: Path, arenas: Sequence[ArenaView]) -> _Read:
    """All entries; values of queries are kept as far as boards need them."""
    kept: dict[str, Entry] = {}
    views: dict[str, list[RunView]] = {}
    groups, slicer, rejected = Groups(), Slicer(), 0
    for path, entry in entries(folder):
        if entry.verdict == "rejected":
            rejected += 1
            continue
        groups.add(entry, path)
        views[entry.id] = [view(entry, place, slicer) for place in range(len(entry.runs))]
        kept[entry.id] = replace(entry, runs=tuple(run.without_queries for run in entry.runs))
    groups.arrange()
    kept = {id_: kept[id_] for id_ in sorted(kept)}
    return _Read(kept, views, groups, rejected, arenas)


class _Pages:
    """The files of a site, one after the other."""

    def __init__(
        self, board: Shown, read: _Read, title: str, submit_to: str | None, observer: Observer
    ) -> None:
        self._board, self._read, self._title, self._observer = board, read, title, observer
        self._submit_to = submit_to
        self._style = asset("theme.css") + asset("site.css", _FOLDER)
        self._style += arena_style() if read.arenas else ""
        self._jinja = environment(_FOLDER, FOLDER)
        self._jinja.filters["shown"] = shown

    def files(self) -> Iterator[tuple[str, str]]:
        """(path in the site, text) of each."""
        yield ".nojekyll", ""
        yield "index.html", self._overview()
        for task in self._board.groups.tasks():
            yield f"tasks/{task_page(task)}", self._task(task)
        if self._read.arenas:
            yield METRICS_PAGE, self._metrics()
        sums = Sums()
        for entry in self._board.entries.values():
            yield f"entries/{self._board.pages[entry.id]}", self._entry(entry, sums)
            self._observer.advance(1)

    def _overview(self) -> str:
        data = boards.overview(self._board)
        return self._board_page("", self._title, "overview", data)

    def _task(self, task: str) -> str:
        data = boards.task(self._board, task)
        return self._board_page("../", self._words(task), task, data)

    def _board_page(self, root: str, title: str, here: str, data: Mapping[str, Any]) -> str:
        board, groups = self._board, self._board.groups
        page = {"root": root, "here": here, "level": LEVEL}
        base = board.baseline
        return self._render(
            "board.html.j2",
            [asset("page.js"), *(asset(name, _FOLDER) for name in _BOARD_SCRIPTS)],
            title=title,
            data=page | dict(data),
            versions=bool(versions(groups)) and any(group["version"] for group in data["groups"]),
            baseline=None if base is None else (board.entries[base.entry], base),
            rejected=self._read.rejected,
            papers=board.papers,
            commands=groups.commands(data["cutoffs"]),
            submit_to=self._submit_to,
            suspicious=any(entry.verdict == "suspicious" for entry in board.entries.values()),
            resamples=resamples(max((len(group.members) for group in groups), default=0)),
            **page,
        )

    def _metrics(self) -> str:
        page = {"title": "Metrics of tables", "root": "", "here": METRICS_PAGE}
        return self._render("metrics.html.j2", [asset("page.js")], **page, **arena_context())

    def _entry(self, entry: Entry, sums: Sums) -> str:
        views = self._read.views[entry.id]
        order = sorted(views, key=lambda v: (v.answers, v.recorded.basis, v.data, v.place))
        runs = [(one, hardest(one, self._board.groups, sums)) for one in order]
        return self._render(
            "entry.html.j2",
            [asset("page.js")],
            title=shown(entry.card.name),
            entry=entry,
            runs=runs,
            words=self._words,
            corpus_title=corpus_title,
            task_page=task_page,
            root="../",
            here="entry",
        )

    def _words(self, task: str) -> str:
        return shown(self._board.groups.title(task))

    def _render(self, template: str, scripts: list[str], **context: Any) -> str:
        script = "\n".join(scripts)
        return self._jinja.get_template(template).render(
            site=self._title,
            version=__version__,
            policy=security_policy([script], [self._style]),
            script=script,
            style=self._style,
            views=self._read.arenas,
            date=today(),
            newest=max(
                (run.date for one in self._board.entries.values() for run in one.runs), default=""
            ),
            metrics_page=METRICS_PAGE,
            tasks=[(task_page(t), self._words(t), t) for t in self._board.groups.tasks()],
            **context,
        )


MARKER = "target-bench-site.json"
"""Names the files of a site; a folder without it is none."""


def check_folder(out: Path, submissions: Path) -> None:
    """See that a folder may be replaced.

    Raises:
        ConfigError: it is a file or link, holds files that are not of an earlier site, or is the
            folder of submissions, the one that the program runs in, or above one of them.
    """
    if Path.cwd().is_relative_to(out.resolve()):
        raise ConfigError(f"-o {out}: is the folder you are in, or above it; name another folder")
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise ConfigError(f"-o {out}: is not a folder; name a new or empty one")
    if submissions.resolve().is_relative_to(out.resolve()):
        raise ConfigError(f"-o {out}: holds the submissions; name another folder")
    if not out.exists():
        return
    there = _files(out)
    if not there:
        return
    others = sorted(there - _known(out))
    if MARKER not in there:
        raise ConfigError(
            f"-o {out}: holds {others[0]!a} and is not a site that target-bench built; name a new "
            "or empty folder"
        )
    if others:
        raise ConfigError(
            f"-o {out}: holds {', '.join(ascii(name) for name in others[:3])}, which the site "
            "there does not; move it away, for the folder is replaced as a whole"
        )


def replace_folder(out: Path, files: Iterable[tuple[str, str]]) -> int:
    """Write files into a new folder beside ``out``, and put it in its place.

    Builds of the same site wait for each other, and each removes what killed ones left: the system
    gives back the lock of a process that ended. What does not say that a build wrote it stays.

    Args:
        out: the folder.
        files: (path in the folder, text) of each.

    Returns:
        Bytes of all files.

    Raises:
        StoreError: it cannot be written; what was there stays.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with _alone(out) as alone:
            if alone:
                _remove_left_behind(out, ".tmp")
            size = _replace(out, files)
            if alone:
                _remove_left_behind(out, ".old")
    except OSError as error:
        raise StoreError(cannot("be written", out, error, "-o")) from error
    return size


def _replace(out: Path, files: Iterable[tuple[str, str]]) -> int:
    half = out.with_name(f".{out.name}.{uuid4().hex[:8]}.tmp")
    old = half.with_suffix(".old")
    try:
        half.mkdir()
        size = _write(half, files)
        if out.exists():
            out.rename(old)
        try:
            half.rename(out)
        except OSError:
            with suppress(OSError):
                old.rename(out)
            raise
    finally:
        shutil.rmtree(half, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)
    return size


@contextmanager
def _alone(out: Path) -> Iterator[bool]:
    """Keep other builds of this site out; False where the file system has no locks."""
    path = out.with_name(f".{out.name}.target-bench.lock")
    refused: list[Exception] = []
    with exclusive_lock(path, unlocked=refused.append) as file:
        try:
            yield not refused
        finally:
            if not refused and not os.fstat(file.fileno()).st_size:  # else it is somebody's file
                with suppress(OSError):  # as on Windows, where it is open
                    path.unlink()


def _remove_left_behind(out: Path, suffix: str) -> None:
    """Remove the folders of builds that were killed; the caller is the only build."""
    name = re.compile(rf"\.{re.escape(out.name)}\.[0-9a-f]{{8}}{re.escape(suffix)}")
    for path in out.parent.iterdir():
        if name.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
            there = _files(path)
            known = _known(path) if suffix == ".old" else there  # half a site has no list yet
            if not there or (MARKER in there and there <= known):
                shutil.rmtree(path, ignore_errors=True)


def _write(folder: Path, files: Iterable[tuple[str, str]]) -> int:
    names, size = [MARKER], 0
    (folder / MARKER).write_text(_marker(names), encoding="ascii")  # what is half written says so
    for name, text in files:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        raw = text.encode("utf-8")
        path.write_bytes(raw)
        names.append(name)
        size += len(raw)
    marker = _marker(names)
    (folder / MARKER).write_text(marker, encoding="ascii")
    return size + len(marker)


def _marker(names: list[str]) -> str:
    return json.dumps({"format": 1, "files": sorted(names)}, indent=1) + "\n"


def _files(folder: Path) -> set[str]:
    """All that is in a folder but folders."""
    inside = folder.rglob("*")
    return {str(p.relative_to(folder)) for p in inside if p.is_symlink() or not p.is_dir()}


def _known(out: Path) -> set[str]:
    """Return the files that the site there says are its own."""
    try:
        found = parse_json((out / MARKER).read_bytes())["files"]
        return {name.replace("/", os.sep) for name in found}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {MARKER}
