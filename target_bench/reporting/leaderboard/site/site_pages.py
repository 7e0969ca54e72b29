"""The pages of the site as text: the overview, one page a task, one an entry."""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Any

from target_bench.core.observer import Observer
from target_bench.core.version import __version__
from target_bench.reporting.arena_page.arena_view import (
    FOLDER,
    ArenaView,
    arena_context,
    arena_style,
)
from target_bench.reporting.leaderboard.entry import Entry
from target_bench.reporting.leaderboard.site import boards
from target_bench.reporting.leaderboard.site.boards import Shown
from target_bench.reporting.leaderboard.site.entry_pages import RunView, Sums, hardest, task_page
from target_bench.reporting.leaderboard.site.groups import (
    LEVEL,
    Group,
    corpus_title,
    resamples,
    versions,
)
from target_bench.reporting.web import asset, environment, security_policy, shown

_FOLDER = Path(__file__).parent
_BOARD_SCRIPTS = ("charts.js", "filters.js", "table.js", "copying.js", "board.js")
METRICS_PAGE = "table-metrics.html"


class Pages:
    """The files of a site, one after the other.

    Args:
        board: what the site shows.
        views: id of an entry -> its runs.
        title: of the overview.
        rejected: how many entries are not shown, because they were rejected.
        arenas: what is known of metrics of tables.
        submit_to: the address that submissions are sent to, or None.
        observer: gets progress.
    """

    def __init__(
        self,
        board: Shown,
        views: Mapping[str, Sequence[RunView]],
        title: str,
        rejected: int,
        arenas: Sequence[ArenaView],
        submit_to: str | None,
        observer: Observer,
    ) -> None:
        self._board, self._views, self._title, self._observer = board, views, title, observer
        self._rejected, self._arenas, self._submit_to = rejected, arenas, submit_to
        self._style = asset("theme.css") + asset("site.css", _FOLDER)
        self._style += arena_style() if arenas else ""
        self._jinja = environment(_FOLDER, FOLDER)
        self._jinja.filters["shown"] = shown

    def files(self) -> Iterator[tuple[str, str]]:
        """(path in the site, text) of each."""
        yield ".nojekyll", ""
        yield "index.html", self._overview()
        for task in self._board.groups.tasks():
            yield f"tasks/{task_page(task)}", self._task(task)
        if self._arenas:
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
            rejected=self._rejected,
            papers=board.papers,
            commands=_commands(groups.rankings(), data["cutoffs"]),
            submit_to=self._submit_to,
            suspicious=any(entry.verdict == "suspicious" for entry in board.entries.values()),
            resamples=resamples(max((len(group.members) for group in groups), default=0)),
            **page,
        )

    def _metrics(self) -> str:
        page = {"title": "Metrics of tables", "root": "", "here": METRICS_PAGE}
        return self._render("metrics.html.j2", [asset("page.js")], **page, **arena_context())

    def _entry(self, entry: Entry, sums: Sums) -> str:
        views = self._views[entry.id]
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
            views=self._arenas,
            date=_today(),
            newest=max(
                (run.date for one in self._board.entries.values() for run in one.runs), default=""
            ),
            metrics_page=METRICS_PAGE,
            tasks=[(task_page(t), self._words(t), t) for t in self._board.groups.tasks()],
            **context,
        )


def _commands(rankings: Sequence[Group], cutoffs: Sequence[int]) -> str:
    """Return the commands that make and verify a submission of the data of a board."""
    corpora = dict.fromkeys(group.data.corpus for group in rankings if not group.data.distractors)
    asked = " ".join(f"--corpus {quote(shown(name))}" for name in corpora) or "--corpus ottqa"
    return "\n".join(
        [
            f"target-bench run --task retrieval {asked} \\",
            f"    --retriever my_file.py:Mine --top-k {','.join(map(str, cutoffs)) or 10}",
            "target-bench leaderboard submit runs/retrieval-* -o team.tbs.zip",
            "target-bench leaderboard verify team.tbs.zip",
        ]
    )


def _today() -> str:
    """Return the day of the build (UTC); ``$SOURCE_DATE_EPOCH`` sets it for repeatable builds."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)
    return now.date().isoformat()
