"""The site of documentation: what mkdocs has to know beyond ``mkdocs.yml``.

Pages of the repository that are not in ``docs/`` become pages of the site, and the checks of
plug-ins are tables of the API's page. Links that lead out of the pages lead to the repository's web
page. What only the tests read in the info string of a code block is left out, and formulas become
MathML, so that the site loads nothing from elsewhere.
"""

import html
import posixpath
import re
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from nbconvert import MarkdownExporter

import target_bench

ROOT = Path(__file__).parent.parent
ELSEWHERE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks.md",
    "benchmarks/retrievers.md": "retriever_figures.md",
    "benchmarks/tables_and_text.md": "table_figures.md",
    "benchmarks/leaderboard/README.md": "baselines.md",
}
"""Pages that are not in ``docs/`` -> what they are called on the site."""

NOTEBOOK = "docs/notebook.ipynb"
REFERENCE = "docs/api.md"

_LINK = re.compile(r"(\]\(|(?:src|href)=\")(?!https?://|mailto:|#)([^)\s#\"]+)")
_FILE_NAME = re.compile(r"\[(?:docs/)?(\w+\.md)\](?=\()")
_FENCE = re.compile(r"^```(\w+) .*$", re.MULTILINE)
_CODE = re.compile(r"`[^`\n]+`")
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
_FIGURES = re.compile(r"<td>((?:<strong>)?[-\d.,/ –−+%×()]+(?:</strong>)?)</td>")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in ``docs/`` and the notebook; place pages that ``nav`` lacks."""
    for source, name in ELSEWHERE.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / source)))
    text, _ = MarkdownExporter().from_filename(str(ROOT / NOTEBOOK))  # type: ignore[no-untyped-call]  # of nbconvert
    files.append(File.generated(config, "notebook.md", content=text))
    placed = str(config.nav)
    others = [page for page in files.documentation_pages() if f"'{page.src_uri}'" not in placed]
    if others and config.nav is not None:
        config.nav.append({"More": [page.src_uri for page in others]})
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: object) -> str:
    """Return the page with the links of the site, and code blocks without words for tests."""
    name = page.file.src_uri
    source = next((path for path, uri in ELSEWHERE.items() if uri == name), f"docs/{name}")

    if source == REFERENCE:
        markdown = _whole(markdown)

    def link(match: re.Match[str]) -> str:
        return match[1] + site_link(match[2], posixpath.dirname(source), config.extra["repository"])

    named = _FILE_NAME.sub(lambda name: f"[{_title(name[1])}]", _LINK.sub(link, markdown))
    piped = _CODE.sub(lambda code: code[0].replace("\\|", "|"), named)  # GitHub's form in tables
    return _FENCE.sub(r"```\1", piped)


def _title(name: str) -> str:
    """Return the heading of a page, or its name if it is not in ``docs/``."""
    path = ROOT / "docs" / name
    if not path.is_file():
        return name
    return path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")


def _whole(reference: str) -> str:
    """Return the reference with the public names that it does not have yet at its end."""
    given = set(re.findall(r"^::: target_bench\.(\w+)$", reference, re.MULTILINE))
    names = [name for name in dir(target_bench) if name not in {*given, "__version__"}]
    return "\n\n".join([reference, *(f"::: target_bench.{name}" for name in names)])


def site_link(target: str, folder: str, repository: str) -> str:
    """Return where a link leads on the site.

    Args:
        target: the path of the link, relative to the folder.
        folder: the folder of the page in the repository.
        repository: the address of the repository.
    """
    path = posixpath.normpath(posixpath.join(folder, target))
    if path in ELSEWHERE:
        return ELSEWHERE[path]
    if path == NOTEBOOK:
        return "notebook.md"
    if path.startswith("docs/") and not path.startswith("docs/plugin_template"):
        return path.removeprefix("docs/")
    kind = "tree" if (ROOT / path).is_dir() else "blob"
    return f"{repository}/{kind}/main/{path}"


def on_page_content(content: str, **_: object) -> str:
    """Return the page with MathML in place of LaTeX, and cells of figures that are not broken."""
    return _FIGURES.sub(r'<td class="figures">\1</td>', _FORMULA.sub(_mathml, content))


def _mathml(match: re.Match[str]) -> str:
    return convert(html.unescape(match[2]), display="block" if match[1] == "div" else "inline")
