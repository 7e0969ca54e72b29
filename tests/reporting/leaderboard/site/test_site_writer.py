"""The folder of a site: what is in it, and what it may replace."""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from target_bench.core.errors import ConfigError, DataError, StoreError
from target_bench.reporting.leaderboard.site import build, site_writer
from target_bench.reporting.leaderboard.site.site_writer import MARKER
from tests.reporting.leaderboard.site.small import board, card, data_of, entry, retrieval, write


def _files(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def test_what_is_in_it(tmp_path: Path) -> None:
    """One page per entry and a task; rejected ones are nowhere."""
    built = build(write(tmp_path / "in", board()), tmp_path / "site")
    pages = {f"entries/{name}.html" for name in ("bm25", "best", "close", "odd", "untold")}
    pages |= {"index.html", "tasks/retrieval.html", "tasks/fact_verification.html"}
    assert _files(tmp_path / "site") == pages | {MARKER, ".nojekyll"}
    assert (built.entries, built.rejected, built.pages) == (5, 1, 8)
    everything = "".join(p.read_text("utf-8") for p in (tmp_path / "site").rglob("*.html"))
    assert "Forged" not in everything
    assert "forged" not in everything
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "site"]


def test_the_same_entries_are_the_same_bytes(tmp_path: Path) -> None:
    build(write(tmp_path / "in", board()), tmp_path / "one")
    build(write(tmp_path / "again", board()[::-1]), tmp_path / "two")
    for name in _files(tmp_path / "one"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_dates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the build, which can be set, and of the newest run."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    build(write(tmp_path / "in", board()), tmp_path / "site")
    for name in ("index.html", "tasks/retrieval.html", "entries/best.html"):
        text = (tmp_path / "site" / name).read_text("utf-8")
        assert "on 2026-01-01; the newest run is of 2026-01-31" in text
    assert "2026-01-31, the day of its latest run" in text


@pytest.mark.parametrize("address", ["example.org", "javascript:alert(1)", "http://a:b@c.org"])
def test_where_submissions_go_is_an_address(tmp_path: Path, address: str) -> None:
    given = write(tmp_path / "in", board())
    with pytest.raises(ConfigError, match="--submit-to"):
        build(given, tmp_path / "site", submit_to=address)


def test_an_earlier_site_is_replaced(tmp_path: Path) -> None:
    out = tmp_path / "site"
    build(write(tmp_path / "in", board()), out)
    build(write(tmp_path / "fewer", board()[:1]), out)
    assert "entries/best.html" not in _files(out)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fewer", "in", "site"]


def test_what_killed_builds_left_is_removed(tmp_path: Path) -> None:
    """Half a site, and an earlier one that was in the way; other folders stay."""
    for name in (
        ".site.0123abcd.tmp",
        ".site.0123abcd.old",
        ".site.mine.tmp",
        ".sites.0123abcd.tmp",
    ):
        site_writer.replace_folder(tmp_path / name, [("tasks/one.html", "")])
    (tmp_path / ".site.4567abcd.old" / "tasks").mkdir(parents=True)
    build(write(tmp_path / "in", board()), tmp_path / "site")
    names = [".site.mine.tmp", ".sites.0123abcd.tmp", "in", "site"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_what_lies_beside_and_no_build_wrote_stays(tmp_path: Path) -> None:
    """Whatever it is called."""
    for name in (".site.0123abcd.tmp", ".site.0123abcd.old", ".site.4567abcd.old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.tex").write_text("mine")
    (tmp_path / ".site.4567abcd.old" / MARKER).write_text('{"format": 1, "files": []}')
    for name in (".site.lock", ".site.target-bench.lock"):
        (tmp_path / name).write_text("my notes")
    before = _files(tmp_path)
    build(write(tmp_path / "in", board()), tmp_path / "site")
    assert before <= _files(tmp_path)
    assert {(tmp_path / name).read_text() for name in before if "lock" in name} == {"my notes"}


def test_a_build_that_runs_beside_is_waited_for(tmp_path: Path) -> None:
    """Its half is not what a killed one left; both end with a whole site."""
    begun, go_on = Event(), Event()

    def pages(text: str, waits: bool) -> Iterator[tuple[str, str]]:
        yield "index.html", text
        if waits:
            begun.set()
            go_on.wait(60)
        yield "tasks/one.html", text

    def other() -> None:
        site_writer.replace_folder(tmp_path / "site", pages("second", False))

    with ThreadPoolExecutor() as pool:
        first = pool.submit(site_writer.replace_folder, tmp_path / "site", pages("first", True))
        assert begun.wait(60)
        second = pool.submit(other)
        with pytest.raises(TimeoutError):
            second.result(0.3)
        (half,) = tmp_path.glob(".site.*.tmp")
        assert (half / "index.html").read_text() == "first"
        go_on.set()
        first.result(60)
        second.result(60)
    assert {path.read_text() for path in (tmp_path / "site").rglob("*.html")} == {"second"}
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_killed_build_holds_no_one_up(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; "
        "from target_bench.reporting.leaderboard.site import site_writer; "
        "site_writer.replace_folder(Path(sys.argv[1]), (os._exit(9) for _ in '1'))"
    )
    killed = subprocess.run([sys.executable, "-c", code, tmp_path / "site"], check=False)
    assert killed.returncode == 9
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".lock", ".tmp"]
    build(write(tmp_path / "in", board()), tmp_path / "site")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "site"]


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    build(write(tmp_path / "in", board()), tmp_path / "site")
    assert (tmp_path / "site" / "index.html").exists()


def test_not_a_site_stays(tmp_path: Path) -> None:
    given, out = write(tmp_path / "in", board()), tmp_path / "site"
    out.mkdir()
    (out / "thesis.tex").write_text("mine")
    with pytest.raises(ConfigError, match=r"holds 'thesis\.tex' and is not a site"):
        build(given, out)
    (out / "thesis.tex").unlink()
    build(given, out)
    (out / "CNAME").write_text("example.org")
    with pytest.raises(ConfigError, match="holds 'CNAME', which the site there does not"):
        build(given, out)
    assert (out / "CNAME").read_text() == "example.org"


def test_files_links_and_the_submissions_are_not_replaced(tmp_path: Path) -> None:
    given = write(tmp_path / "in", board())
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("file", "link"):
        with pytest.raises(ConfigError, match="is not a folder"):
            build(given, tmp_path / name)
    for out in (given, tmp_path):
        with pytest.raises(ConfigError, match="holds the submissions"):
            build(given, out)


@pytest.mark.parametrize("out", [".", "..", ""])
def test_the_folder_one_is_in_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    given, here = write(tmp_path / "in", board()), tmp_path / "empty" / "here"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    with pytest.raises(ConfigError, match="is the folder you are in"):
        build(given, Path(out))


def test_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, out = write(tmp_path / "in", board()), tmp_path / "site"
    build(given, out)
    before = (out / "index.html").read_bytes()
    (given / "9.entry.json").write_text("{}")
    with pytest.raises(DataError):
        build(given, out)
    (given / "9.entry.json").unlink()

    def fails(*_: object) -> str:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(site_writer._Pages, "_entry", fails)
    with pytest.raises(StoreError, match="No space left"):
        build(given, out)
    assert (out / "index.html").read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "site"]


def test_nothing_to_show(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such folder"):
        build(tmp_path / "in", tmp_path / "site")
    (tmp_path / "in").mkdir()
    with pytest.raises(DataError, match=r"holds no \*\.entry\.json"):
        build(tmp_path / "in", tmp_path / "site")
    build(write(tmp_path / "in", board()[-1:]), tmp_path / "site")
    text = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert "There is no entry yet that was not rejected" in text
    assert "<script>" not in text


def test_names_of_pages(tmp_path: Path) -> None:
    """Whatever an id is, its page is a plain file in the folder of entries."""
    ids = ["../../up", "a/b", "A", "Ärger mit Namen", "x" * 150, "con.", "<script>", ".."]
    made = [entry(id_, retrieval(0.5), its_card=card("Some name")) for id_ in ids]
    build(write(tmp_path / "in", made), tmp_path / "site")
    pages = sorted((tmp_path / "site" / "entries").iterdir())
    assert len(pages) == len(ids)
    assert all(p.is_file() and p.name.isascii() and len(p.name) < 80 for p in pages)
    assert {row["page"] for row in data_of(tmp_path / "site" / "index.html")["rows"]} == {
        p.name for p in pages
    }


def test_the_baseline(tmp_path: Path) -> None:
    given, out = write(tmp_path / "in", board()), tmp_path / "site"

    def baselines() -> list[str]:
        return [row["name"] for row in data_of(out / "index.html")["rows"] if row["baseline"]]

    build(given, out)
    assert baselines() == ["Plain BM25"]
    build(given, out, baseline="close")
    assert baselines() == ["Close"]
    with pytest.raises(ConfigError, match="--baseline nobody: no entry"):
        build(given, out, baseline="nobody")
    with pytest.raises(ConfigError, match="--baseline forged: no entry"):
        build(given, out, baseline="forged")
    labelled = entry("mine", retrieval(0.5, retriever="bm25"))
    build(write(tmp_path / "other", [labelled, *board()[1:]]), out)
    assert baselines() == ["Mine"]
    build(write(tmp_path / "none", board()[1:2]), out)
    assert baselines() == []
    assert "There is no baseline here" in (out / "index.html").read_text("utf-8")


def test_no_text_of_the_data(tmp_path: Path) -> None:
    """An entry page names queries by id, the hardest first."""
    made = [entry(f"e{i}", retrieval(share)) for i, share in enumerate((0.5, 0.9, 0.8))]
    build(write(tmp_path / "in", made), tmp_path / "site")
    text = (tmp_path / "site" / "entries" / "e0.html").read_text("utf-8")
    hardest = text[text.index("Hardest queries") :]
    assert hardest.index("alpha-30<") < hardest.index("alpha-47<") < hardest.index("alpha-48<")
    assert "alpha-29<" not in text  # found
    assert "alpha-50<" not in text  # the 21st
