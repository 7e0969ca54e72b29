"""The site: what is written where, and the pages in a real browser."""

import json
import re
import shlex
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from target_bench.core.errors import ConfigError, DataError
from target_bench.reporting.leaderboard import site as site_module
from target_bench.reporting.leaderboard.site import build_site, write_site
from tests.browser import PHONE, OpenPage
from tests.cli.inside import Inside
from tests.reporting.leaderboard.small import (
    answers,
    board,
    card,
    entry,
    retrieval,
)
from tests.reporting.report import written

if TYPE_CHECKING:
    from playwright.sync_api import Page


HOSTILE = [text for text in written.HOSTILE if "\ud800" not in text]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("leaderboard")
    write_site(board(), folder / "site", rejected=1)
    return folder / "site"


def test_a_page_and_its_json_for_each_task(site: Path) -> None:
    assert sorted(path.name for path in site.iterdir()) == [
        "fact_verification.html", "fact_verification.json", "index.html", "index.json",
    ]  # fmt: skip
    data = json.loads((site / "index.json").read_bytes())
    assert data["task"] == "retrieval"
    text = (site / "index.html").read_text("utf-8")
    assert "1 rejected entry is not shown" in text
    assert "target-bench run --task retrieval --corpus alpha --corpus beta" in text


def test_the_same_entries_are_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    for name in ("a", "b"):
        write_site(board(), tmp_path / name)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_a_site_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    given, out = tmp_path / "in", tmp_path / "site"
    given.mkdir()
    (given / "a.tbs.zip").write_bytes(b"PK")
    write_site(board(), out)
    write_site([entry("a", retrieval(0.5))], out)
    assert not list(out.glob("fact_verification.*")), "of the site before"
    (out / "mine.txt").write_text("mine")
    for write in (lambda: write_site(board(), out), lambda: build_site(given, out)):
        with pytest.raises(ConfigError, match=r"holds 'mine\.txt'"):
            write()
    (out / "mine.txt").rename(tmp_path / "mine.txt")
    (out / "index.html").write_text("mine")
    with pytest.raises(ConfigError, match=r"holds 'index\.html'"):
        build_site(given, out)
    (out / "index.html").unlink()
    (out / "index.json").unlink()
    for odd in (given, tmp_path, tmp_path / "mine.txt"):
        with pytest.raises(ConfigError, match="-o"):
            build_site(given, odd)
    (tmp_path / "link").symlink_to(out)
    with pytest.raises(ConfigError, match="is not a folder"):
        build_site(given, tmp_path / "link")


def test_nothing_to_show(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such folder"):
        build_site(tmp_path / "in", tmp_path / "site")
    (tmp_path / "in" / "more").mkdir(parents=True)
    with pytest.raises(DataError, match=r"holds no \*\.tbs\.zip"):
        build_site(tmp_path / "in", tmp_path / "site")
    (tmp_path / "in" / "a.tbs.zip").write_bytes(b"PK")
    shown, rejected = build_site(tmp_path / "in", tmp_path / "site")
    assert (shown, [path.name for path in rejected]) == ([], ["a.tbs.zip"])
    text = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert "There is no entry yet that was not rejected" in text
    (tmp_path / "in" / "more" / "A.tbs.zip").write_bytes(b"PK")
    with pytest.raises(DataError, match="has the same name as"):
        build_site(tmp_path / "in", tmp_path / "site")


def test_commands_may_be_pasted_into_a_shell(tmp_path: Path) -> None:
    run = retrieval(0.5, task="x; rm -rf ~", corpus="$(reboot)")
    write_site([entry("one", run)], tmp_path / "site")
    text = unescape((tmp_path / "site" / "index.html").read_text("utf-8"))
    (command,) = re.findall(r"target-bench run --task .*", text)
    words = shlex.split(command.rstrip("\\"))
    assert words[2:] == ["--task", "x; rm -rf ~", "--corpus", "$(reboot)"]


def test_names_of_pages_and_anchors() -> None:
    ids = ["../../up", "a/b", "A", "a", "Ärger mit Namen", "x" * 150, "con.", "<script>", ".."]
    made = list(map(site_module.to_anchor, ids))
    assert len(set(made)) == len(ids)
    assert all(name.isascii() and len(name) < 80 and "/" not in name for name in made)


def test_the_command(inside: Inside) -> None:
    assert "no such folder" in inside.bad(2, "leaderboard", "build", "nothing")
    Path("submissions").mkdir()
    words = ("leaderboard", "build", "submissions", "-o", "other")
    assert "holds no *.tbs.zip" in inside.bad(2, *words)
    assert not Path("other").exists()


def opened(open_page: OpenPage, path: Path, **more: Any) -> "Page":
    page: Page = open_page(path, root=path.parent, **more).page
    page.wait_for_function("() => document.documentElement.dataset.ready === 'true'")
    return page


def names(page: "Page") -> list[str]:
    """The systems that are shown, in their order."""
    return page.locator("#scores tbody tr:not([hidden]) th a.data").all_inner_texts()


ALL = ["Best, by far", "Close", "Plain BM25", "Untold", "Odd one"]


def test_the_page(open_page: OpenPage, site: Path) -> None:
    page = opened(open_page, site / "index.html")
    assert names(page) == ALL
    assert page.locator("#shown").inner_text() == "5 systems"
    ranks = page.locator("#scores tbody td:first-child").all_inner_texts()
    assert ranks == ["1", "2", "3", "4", "5"]
    close = page.locator("#scores tbody tr", has_text="Close")
    assert ".933≈" in close.inner_text().replace("\n", "")
    assert page.locator("#scores tbody .badge").all_inner_texts() == ["chosen on test"]
    page.locator("nav a", has_text="Fact Verification").click()
    page.wait_for_url("**/fact_verification.html")
    assert names(page) == ["Best, by far", "Close", "Plain BM25"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("somebody else", ["Odd one"]),
        ("bm25 PLAIN", ["Plain BM25"]),
        ("nothing like it", []),
        ("lexical", ["Plain BM25"]),
        ("zero-shot", ["Close", "Plain BM25", "Odd one"]),
    ],
)
def test_rows_are_searched(
    open_page: OpenPage, site: Path, words: str, expected: list[str]
) -> None:
    page = opened(open_page, site / "index.html")
    page.fill("#search", words)
    assert names(page) == expected
    assert page.locator("#nothing").is_visible() == (not expected)
    if expected:
        assert page.locator("#shown").inner_text() == f"{len(expected)} of 5 systems"
    page.fill("#search", "")
    page.select_option("#of", "beta test")
    assert names(page) == ["Best, by far", "Plain BM25", "Odd one"]


def test_published_predictions(open_page: OpenPage, tmp_path: Path) -> None:
    link = "https://example.org/tree/0123/results"
    theirs = card("Theirs", predictions=link, note="A set for each question.")
    runs = [
        retrieval(share, corpus, retriever=f"file-of-{corpus}.jsonl")
        for share, corpus in ((0.95, "alpha"), (0.45, "beta"))
    ]
    write_site([entry("theirs", *runs, its_card=theirs), *board()[:1]], tmp_path / "site")
    page = opened(open_page, tmp_path / "site" / "index.html")
    assert names(page) == ["Theirs", "Plain BM25"], "one row for two files"
    badge = page.locator("#scores tbody .badge")
    assert (badge.inner_text(), badge.get_attribute("href")) == ("published predictions", link)
    assert "A set for each question." in page.locator("#scores").inner_text()
    assert "jsonl" not in page.locator("#scores").inner_text()


def test_columns_are_chosen_and_sorted(open_page: OpenPage, site: Path) -> None:
    page = opened(open_page, site / "index.html")
    page.select_option("#k", "1")
    heads = page.locator("#scores thead th:not([hidden])")
    assert sum("R@1" in text for text in heads.all_inner_texts()) == 2
    assert not any("R@10" in text for text in heads.all_inner_texts())
    page.select_option("#k", "10")
    page.select_option("#of", "alpha test")
    labels = [text.split("\n")[1].rstrip() for text in heads.all_inner_texts() if "\n" in text]
    assert labels == ["R@10", "MRR"]
    heads.locator("button", has_text="R@10").click()
    assert names(page)[:2] == ["Best, by far", "Close"]
    heads.locator("button", has_text="system").click()
    assert names(page) == sorted(ALL)


def copied(page: "Page", form: str) -> str:
    """What is on the clipboard after a copy."""
    page.click(f"[data-copy-as={form}]")
    page.wait_for_function("() => document.getElementById('announcer').textContent === 'copied'")
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_what_is_shown_is_copied(open_page: OpenPage, site: Path) -> None:
    page = opened(open_page, site / "index.html")
    page.select_option("#of", "alpha test")
    page.fill("#search", "bm25")
    markdown = copied(page, "markdown").splitlines()
    assert markdown[0].startswith("| rank | system | alpha test R@10 | alpha test MRR |")
    assert markdown[2].startswith("| 3 | Plain BM25 (bm25) | .600 |")
    assert len(markdown) == 3
    csv = copied(page, "csv").split("\r\n")
    assert csv[0].startswith("rank,system,alpha test R@10,alpha test R@10 low,alpha test R@10 high")
    assert csv[1].startswith("3,Plain BM25 (bm25),0.6,0.5,0.7,")


def test_the_card_of_a_system_opens(open_page: OpenPage, site: Path) -> None:
    page = opened(open_page, site / "index.html")
    assert page.locator("#entry-odd dl").is_hidden()
    page.locator("#scores a", has_text="Odd one").click()
    page.wait_for_selector("#entry-odd dl", state="visible")
    text = page.locator("#entry-odd").inner_text()
    assert "58 of 60 queries have all gold tables on top" in text
    assert "dense:model=m, 2026-01-31: asked 60" in text
    assert "chosen on validation" in text


@pytest.mark.parametrize("viewport", [PHONE, {"width": 1400, "height": 900}], ids=["390", "1400"])
def test_no_page_is_wider_than_the_screen(
    open_page: OpenPage, site: Path, viewport: dict[str, int]
) -> None:
    for path in sorted(site.glob("*.html")):
        page = opened(open_page, path, viewport=viewport)
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


def test_every_control_has_a_name_and_the_first_stop_skips(open_page: OpenPage, site: Path) -> None:
    page = opened(open_page, site / "index.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    unnamed = page.evaluate(
        """[...document.querySelectorAll("button, select, input, [role=region]")]
             .filter((node) => !(node.labels?.length || node.getAttribute("aria-label")
                                 || node.textContent.trim())).map((node) => node.outerHTML)"""
    )
    assert unnamed == []


def test_hostile_entries_show_as_text(open_page: OpenPage, tmp_path: Path) -> None:
    """In labels, ids and notes; and what a card may hold."""
    showing = [text for text in HOSTILE if text.isprintable()]
    hostile_card = card("{{7*7}} ${document.title} javascript:alert(1)", licence='" onclick="x')
    made = []
    for i, text in enumerate(HOSTILE):
        label = text if text in showing else f"plain {i}"
        run = retrieval(
            0.5, retriever=label, query_ids=[f"{text} {n}" for n in range(60)],
            queries_fingerprint=f"{i:064x}",
        )  # fmt: skip
        runs = run, answers(0.5, run, generator=label, queries_fingerprint=f"{99 + i:064x}")
        made.append(entry(label, *runs, its_card=hostile_card, notes=[text]))
    site = tmp_path / "site"
    write_site(made, site)
    for path in sorted(site.glob("*.html")):
        page = opened(open_page, path)
        assert page.title() != "owned"
        assert page.evaluate("document.querySelectorAll('img, iframe, object, embed').length") == 0
        assert page.evaluate(
            """[...document.querySelectorAll("a")].every((a) => /^(file|https?):/.test(a.href))"""
        )
        assert not page.evaluate(
            """[...document.querySelectorAll("*")].some((node) =>
                 [...node.attributes].some((a) => a.name.startsWith("on")))"""
        )
        assert page.evaluate("document.scripts.length") == 1
        cells = page.locator("#scores tbody .system").all_inner_texts()
        shown = [" ".join(cell.split()) for cell in cells]
        for text in showing:
            assert any(" ".join(text.split()) in cell for cell in shown), text
        assert "\u202e" not in page.content()


def test_what_is_copied_is_not_markup_and_no_formula(open_page: OpenPage, tmp_path: Path) -> None:
    """Pasted into a spreadsheet or a README, labels of others stay text."""
    label = "[x](http://example.org) <img src=x> `a` *b*| a_b _c_ &lt; [d]"
    hostile = entry("a", retrieval(0.5, retriever=label), its_card=card("=1+1"))
    write_site([hostile, entry("b", retrieval(0.9))], tmp_path / "site")
    page = opened(open_page, tmp_path / "site" / "index.html")
    escaped = r"=1+1 ([x\](http://example.org) \<img src=x\> \`a\` \*b\*\| a_b \_c\_ \&lt; [d])"
    assert f"| {escaped} |" in copied(page, "markdown").split("\n")[3]
    csv = copied(page, "csv").split("\r\n")[2]
    assert csv.startswith("2,'=1+1 ([x](http://example.org) <img src=x> `a` *b*| a_b _c_ &lt; [d])")
