"""Examples in docstrings: each name of the reference has one, which prints its comments."""

import ast
import doctest
import io
import re
import tokenize
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path
from pkgutil import resolve_name
from textwrap import dedent

import pytest

from target_bench import MissingExtraError
from tests.builders import ROOT
from tests.snippets import run_python

FOLDERS = ("target_bench", "retrievers", "generators", "corpora")
FENCED = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
SAME = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def _find_examples() -> Iterator[tuple[str, str]]:
    """Yield each example, after what it is in: read from the files, as some need extras."""
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")]
    for file in sorted(files):
        text = file.read_text(encoding="utf-8")
        if "```python" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                for source in FENCED.findall(ast.get_docstring(node) or ""):
                    yield f"{file.stem}.{getattr(node, 'name', '')}", source


def read_comments(source: str) -> str:
    """Return the comments of an example, which are all that it prints."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return "\n".join(t.string[2:] for t in tokens if t.type == tokenize.COMMENT) + "\n"


def prints_the_same(source: str, printed: str) -> bool:
    """Return whether that is what the comments say, spaces and ``...`` apart."""
    wanted = " ".join(read_comments(source).split())
    return doctest.OutputChecker().check_output(wanted, " ".join(printed.split()), SAME)


@pytest.mark.parametrize(
    "source", [pytest.param(source, id=name) for name, source in _find_examples()]
)
def test_examples_print_their_comments(
    source: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        run_python(source, tmp_path / "example.py")
    except MissingExtraError as error:
        pytest.skip(str(error))
    printed = capsys.readouterr().out
    assert prints_the_same(source, printed), printed


def test_every_name_of_the_reference_has_an_example() -> None:
    """Its own docstring has it, not that of the class that it is made from."""
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    names = re.findall(r"^::: (\S+)$", page, re.MULTILINE)
    assert len(names) > 90
    assert [name for name in names if not FENCED.search(_read_docstring(name))] == []


def _read_docstring(name: str) -> str:
    return cleandoc(resolve_name(name).__doc__ or "")


@pytest.mark.parametrize(
    ("printed", "same"),
    [("4 tables\n", True), ("4\n  tables", True), ("5 tables\n", False), ("", False)],
)
def test_an_example_that_prints_otherwise_is_found(printed: str, same: bool) -> None:
    source = dedent("""
        print("4 tables")  # 4
        # tables
    """)
    assert prints_the_same(source, printed) == same
