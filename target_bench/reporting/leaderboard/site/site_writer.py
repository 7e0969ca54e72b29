"""Building the site: entries in, a folder of pages out."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError
from target_bench.core.observer import Observer
from target_bench.core.version import __version__
from target_bench.evaluation.arena.arena_file import read_arenas
from target_bench.reporting.arena_page.arena_view import (
    FOLDER,
    ArenaView,
    arena_context,
    arena_style,
)
from target_bench.reporting.leaderboard.entry import Entry, entries
from target_bench.reporting.leaderboard.site import boards
from target_bench.reporting.leaderboard.site.boards import Shown
from target_bench.reporting.leaderboard.site.entry_pages import RunView, Slicer, Sums, hardest, view
from target_bench.reporting.leaderboard.site.groups import (
    LEVEL,
    Groups,
    System,
    member_of,
    resamples,
    versions,
)
from target_bench.reporting.leaderboard.site.site_folder import check_folder, replace_folder
from target_bench.reporting.web import asset, environment, security_policy, shown

_FOLDER = Path(__file__).parent
_BOARD_SCRIPTS = ("charts.js", "filters.js", "table.js", "copying.js", "board.js")
_BASELINE = "bm25"
METRICS_PAGE = "table-metrics.html"
_SAFE = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")


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
    observer: Observer | None = None,
) -> Built:
    """Write the site of all entries in a folder.

    It needs no data and no network. The folder is replaced as a whole, and only if it is empty or
    an earlier site.

    Args:
        submissions: the folder of ``*.entry.json``, in sub-folders perhaps.
        out: the folder of the site.
        title: of the overview; default: that of the task, if all entries are about one.
        baseline: id of the entry that the others are compared with; default: the entry ``bm25``,
            else the first with a retriever ``bm25``.
        arenas: files of ``tables arena``, for a board of metrics of tables.
        observer: gets progress.

    Raises:
        ConfigError: ``out`` holds more than an earlier site, or there is no such baseline.
        DataError: an entry is none, or there is none; a file of an arena is none.
        StoreError: the site cannot be written.
    """
    observer = observer or Observer()
    check_folder(out, submissions)
    views = [ArenaView(one, f"arena-{n}") for n, one in enumerate(read_arenas(arenas), start=1)]
    observer.stage("leaderboard: read entries")
    read = _read(submissions)
    first = _baseline(read.entries, baseline)
    observer.stage("leaderboard: test differences")
    tests = boards.tested(read.groups, first)
    board = Shown(read.entries, _pages(read.entries), read.groups, tests, first)
    observer.stage("leaderboard: write pages", total=len(board.entries))
    pages = _Pages(board, read, shown(title or _title(read.groups)), views, observer)
    size = replace_folder(out, pages.files())
    n = 1 + bool(views) + len(board.groups.tasks()) + len(board.entries)
    return Built(out, len(board.entries), read.rejected, n, size)


@dataclass(frozen=True, eq=False)
class _Read:
    entries: dict[str, Entry]
    views: dict[str, list[RunView]]
    groups: Groups
    rejected: int


def _read(folder: Path) -> _Read:
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
    return _Read(kept, views, groups, rejected)


def _title(groups: Groups) -> str:
    tasks = groups.tasks()
    return f"{groups.title(tasks[0]) if len(tasks) == 1 else 'target-bench'} leaderboard"


def _baseline(found: Mapping[str, Entry], wanted: str | None) -> System | None:
    if wanted is not None and wanted not in found:
        raise ConfigError(
            f"--baseline {wanted}: no entry that is shown has this id; there are "
            f"{', '.join(list(found)[:10]) or 'none'}"
        )
    if wanted is not None or _BASELINE in found:
        entry = found[wanted or _BASELINE]
        return member_of(entry, entry.runs[0]).system
    named = (
        member_of(entry, run).system
        for entry in found.values()
        for run in entry.runs
        if run.retriever == _BASELINE
    )
    return next(named, None)


def _pages(found: Mapping[str, Entry]) -> dict[str, str]:
    """Id -> a file name that every file system and address can have, each once."""
    names: dict[str, str] = {}
    for id_ in found:
        name = id_ if _SAFE.fullmatch(id_) else _hashed(id_)
        names[id_] = name if name not in names.values() else _hashed(id_)
    return {id_: f"{name}.html" for id_, name in names.items()}


def _hashed(id_: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", id_.casefold()).strip("-")[:40] or "entry"
    return f"{words}-{sha256(id_.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


class _Pages:
    """The files of a site, one after the other."""

    def __init__(
        self,
        board: Shown,
        read: _Read,
        title: str,
        views: Sequence[ArenaView],
        observer: Observer,
    ) -> None:
        self._board, self._read, self._title, self._observer = board, read, title, observer
        self._views = views
        self._style = asset("theme.css") + asset("site.css", _FOLDER) + arena_style()
        self._jinja = environment(_FOLDER, FOLDER)
        self._jinja.filters["shown"] = shown

    def files(self) -> Iterator[tuple[str, str]]:
        """(path in the site, text) of each."""
        yield ".nojekyll", ""
        yield "index.html", self._overview()
        for task in self._board.groups.tasks():
            yield f"tasks/{task_page(task)}", self._task(task)
        if self._views:
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
            views=self._views,
            metrics_page=METRICS_PAGE,
            tasks=[(task_page(t), self._words(t), t) for t in self._board.groups.tasks()],
            **context,
        )


def task_page(task: str) -> str:
    """Return the file name of a task's page."""
    return f"{task if _SAFE.fullmatch(task) else _hashed(task)}.html"
