"""The site of documentation: built without a warning, whole, and quiet in a browser."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import target_bench
from target_bench import testing
from tests.browser import PHONE, WIDE
from tests.builders import ROOT

pytest.importorskip("mkdocs", reason="the extra docs is not installed")
pytest.importorskip("mkdocstrings", reason="the extra docs is not installed")
pytest.importorskip("nbconvert", reason="the extra docs is not installed")

from tools.docs_site import ELSEWHERE, on_page_content, on_page_markdown, site_link

if TYPE_CHECKING:
    from playwright.sync_api import Browser

REPOSITORY = "https://example.org/it"
PAGES = (
    "index.html",
    "tutorial.html",
    "choosing.html",
    "production.html",
    "notebook.html",
    "api.html",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built with warnings as errors: of links, headings and pages that are nowhere."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_there(site: Path) -> None:
    documents = {path.stem for path in (ROOT / "docs").glob("*.md")}
    others = {*(Path(name).stem for name in ELSEWHERE.values()), "notebook", "404"}
    assert {path.stem for path in site.glob("*.html")} == documents | others


def test_everything_public_is_in_the_reference(site: Path) -> None:
    page = (site / "api.html").read_text(encoding="utf-8")
    source = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    names = re.findall(r"^::: target_bench\.(\S+)$", source, re.MULTILINE)
    for contract in testing.CONTRACTS.values():
        place = f"{contract.__module__}.{contract.__qualname__}".removeprefix("target_bench.")
        names += [place, *(f"{place}.{check}" for check in contract.promises())]
    missing = [name for name in names if f'id="target_bench.{name}"' not in page]
    assert not missing


def test_links_of_the_site_and_of_the_repository() -> None:
    link = partial(site_link, folder="docs", repository=REPOSITORY)
    assert link("../README.md") == "index.md"
    assert link("notebook.ipynb") == "notebook.md"
    assert link("../benchmarks/README.md") == "benchmarks.md"
    assert link("../examples") == f"{REPOSITORY}/tree/main/examples"
    assert site_link("docs/data.md", "", REPOSITORY) == "data.md"


def test_pages_as_a_browser_needs_them() -> None:
    page: Any = type("Page", (), {"file": type("File", (), {"src_uri": "data.md"})})
    config: Any = type("Config", (), {"extra": {"repository": REPOSITORY}})
    titled = on_page_markdown("([sql.md](sql.md#x), [NO.md](../NO.md))", page, config)
    assert titled == f"([Text-to-SQL](sql.md#x), [NO.md]({REPOSITORY}/blob/main/NO.md))"
    given = "```python needs=x\ncode\n```\n[here](../tools/net.py#L1), [there](https://a.b/c.md)"
    assert on_page_markdown(given, page, config) == (
        f"```python\ncode\n```\n[here]({REPOSITORY}/blob/main/tools/net.py#L1), "
        "[there](https://a.b/c.md)"
    )
    assert on_page_markdown("`a\\|b` \\|G\\| `c`", page, config) == "`a|b` \\|G\\| `c`"
    formula = on_page_content(r'<td>.91 / .99</td><span class="arithmatex">\(a &lt; b\)</span>')
    assert formula.startswith('<td class="figures">.91 / .99</td><math')
    assert "<mi>b</mi>" in formula


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    handler = partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("viewport", "colours"), [(WIDE, "light"), (PHONE, "dark")], ids=["wide", "phone"]
)
def test_in_a_browser(
    address: str, browser: "Browser", viewport: dict[str, int], colours: Any
) -> None:
    """Nothing is loaded from elsewhere or missing, and no page is wider than the screen."""
    context: Any = browser.new_context(viewport=viewport, color_scheme=colours)  # type: ignore[arg-type]
    page = context.new_page()
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text))
    page.on("request", lambda sent: faults.append(sent.url) if address not in sent.url else None)
    for name in PAGES:
        page.goto(f"{address}/{name}")
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"], name
        assert page.evaluate("[...document.images].every(image => image.naturalWidth > 0)"), name
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(255, 255, 255)") == (colours == "light")
    assert faults == []
    context.close()


def test_pictures_of_the_tutorial() -> None:
    folder = ROOT / "docs" / "assets" / "tutorial"
    named = re.findall(r"\]\(assets/tutorial/(\S+)\)", TUTORIAL)
    assert sorted(named) == sorted(path.name for path in folder.iterdir())
    for name in named:
        picture = (folder / name).read_bytes()
        assert len(picture) < 150_000
        assert b"@font-face" not in picture  # nothing is loaded from elsewhere


TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert citation["version"] == target_bench.__version__
    assert {"message", "title", "authors", "license", "repository-code"} <= set(citation)
    (paper,) = citation["references"]
    assert paper["identifiers"][0]["value"].removeprefix("arXiv:") in README


README = (ROOT / "README.md").read_text(encoding="utf-8")
