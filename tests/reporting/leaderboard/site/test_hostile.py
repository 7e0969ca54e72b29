"""Hostile entries: on the pages they show as text, and so does what is copied from there."""

from pathlib import Path

from target_bench.reporting.leaderboard.entry import Finding
from target_bench.reporting.leaderboard.site import build
from tests.browser import OpenPage
from tests.reporting.leaderboard.site.driving import copied, ready
from tests.reporting.leaderboard.site.small import answers, card, entry, retrieval, write
from tests.reporting.report.written import HOSTILE


def test_hostile_entries_show_as_text(open_page: OpenPage, tmp_path: Path) -> None:
    """In labels, ids, slices, findings and settings; and what a card may hold."""
    texts = [text.replace("\ud800", "") for text in HOSTILE]
    showing = [text for text in texts if text.isprintable()]
    made = []
    for i, text in enumerate(texts):
        ids = [f"{text} {n}" for n in range(60)]
        label = text if text in showing else "plain"
        run = retrieval(
            0.5,
            retriever=label,
            query_ids=ids,
            slices={"kind": [text if n % 2 else "x" for n in range(60)]},
            queries_fingerprint=f"{i:064x}",
            environment={text: [text]},
            retriever_identity={"config": text},
        )
        named = card("{{7*7}} ${document.title} javascript:alert(1)", licence='" onclick="x')
        finding = Finding("check", "suspicious", text, 0)
        its = answers(0.5, run, 0, generator=label, queries_fingerprint=f"{99 + i:064x}")
        made.append(
            entry(label, run, its, its_card=named, findings=[finding], verdict="suspicious")
        )
        if label == "plain":
            made[-1] = entry(f"plain {i}", run, its, its_card=named, findings=[finding])
    site = tmp_path / "site"
    build(write(tmp_path / "in", made), site, title=HOSTILE[0])
    pages = [site / "index.html", *sorted(site.glob("*/*.html"))]
    for path in pages:
        page = open_page(path, root=site).page
        page.wait_for_function("() => document.body.lastElementChild !== null")
        assert page.title() != "owned"
        assert page.evaluate("document.querySelectorAll('img, iframe, object, embed').length") == 0
        assert page.evaluate(
            """[...document.querySelectorAll("a")].every((a) => /^(file|https?):/.test(a.href))"""
        )
        handlers = """[...document.querySelectorAll("*")].some((node) =>
            [...node.attributes].some((a) => a.name.startsWith("on")))"""
        assert not page.evaluate(handlers)
        assert page.evaluate("document.scripts.length") == (1 if "entries" in path.parts else 2)
    overview = ready(open_page(site / "index.html", root=site).page)
    assert overview.locator("h1").inner_text() == HOSTILE[0]
    shown = overview.locator("#scores tbody .system").all_inner_texts()
    for text in showing:
        assert any(" ".join(text.split()) in " ".join(cell.split()) for cell in shown), text


def test_what_is_copied_is_not_markup_and_no_formula(open_page: OpenPage, tmp_path: Path) -> None:
    """Pasted into a spreadsheet, a README or a paper, labels of others stay text."""
    label = "\u00a0=1+1 [x](http://example.org) <img src=x> `a` *b*| a_b _c_ &lt; [d]"
    hostile = entry("a", retrieval(0.5, retriever=label), its_card=card("[2cm] name"))
    build(write(tmp_path / "in", [hostile, entry("b", retrieval(0.9))]), tmp_path / "site")
    page = ready(open_page(tmp_path / "site" / "index.html", root=tmp_path / "site").page)
    markdown = copied(page, "markdown", "| rank").split("\n")[3]
    escaped = r"=1+1 [x\](http://example.org) \<img src=x\> \`a\` \*b\*\| a_b \_c\_ \&lt; [d]"
    assert f"| {escaped} |" in markdown
    csv = copied(page, "csv", "rank,system,").split("\r\n")[2]
    assert csv.startswith("2,[2cm] name,'=1+1 [x](http://example.org) <img src=x> `a` *b*| a_b")
    latex = copied(page, "latex", "\\begin{tabular}{ll").split("\n")
    assert any(line.startswith("2 & {[}2cm] name & =1+1 {[}x](http:") for line in latex)
