"""The hash of a source file follows what it does, and neither its wording nor its layout."""

import ast
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from target_bench.core import identity
from target_bench.core.errors import ConfigError
from target_bench.core.identity import read_source
from target_bench.core.plugin_sources import Import, PluginSources, Source

PACKAGE = Path(identity.__file__).parent

SAMPLE = '''\
"""A module."""

from __future__ import annotations

import math as m
from . import sibling
from os import *

LIMIT: int = 0x10
"""What it means."""
NAMES = {"a": 1, **{}, "é\\U0001f600": b"\\x00", None: ...}


@property
async def first(a, /, b=1.50, *rest, c, d: "int" = None, **more) -> list[int]:
    """Docstring."""
    async with a as b, c: pass
    async for x in rest:
        yield [x async for x in d if x]
    return


class Sample(Base, metaclass=Meta):
    """Docstring."""

    kind = u"text"

    def method(self):
        global LIMIT
        try:
            assert self, "no"
        except* (ValueError, OSError) as error:
            raise error from None
        else:
            del self.kind
        finally:
            pass
        return lambda x=1j: f"{x!r:>{self.width}.2f} and {LIMIT=}" "more"


match LIMIT:
    case [1, *_] | {"k": str() as v, **rest} if -1 < 2 <= 3 != True:
        print(a[1:2, ::3], not b, ~c, *d, e := 4, *[i for i in j if k])
    case None | Sample.kind:
        while True:
            break
        else:
            LIMIT += 10**1_000 // 3 % 2 @ 1 << 1 >> 1 & 1 | 1 ^ 1 or 0 and 1
    case _:
        nonlocal_ = 1 if a is not b else c not in d
'''

DOC = '"""Words."""'


def _read(folder: Path, source: str, package: Path | None = None) -> Source:
    file = folder / "sample.py"
    file.write_text(source, encoding="utf-8")
    return identity.read_source(file, package)


def test_hash_is_the_same_under_every_version_of_python(tmp_path: Path) -> None:
    """A change of this hash changes the identity of every plug-in: runs would be made again."""
    source = _read(tmp_path, SAMPLE)
    assert source.code == "2991338b218443782b418526b606f0f7e9ed6a2920a823fe151701c6dbc48743"
    assert source.documented == "52346ee6e6147206c01645b7e9e7616e7aff60d06d1dbb0683d931344ca8b85a"


def test_imports(tmp_path: Path) -> None:
    source = "import a.b\nimport c.d as e\ndef f():\n    from ..g import h as i, j; from . import k"
    assert set(_read(tmp_path, source).imports) == {
        Import("a.b", None, "a"),
        Import("c.d", None, "e"),
        Import("g", "h", "i", 2),
        Import("g", "j", "j", 2),
        Import("", "k", "k", 1),
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f():\n    '''Words.'''\n    return 1", "def f(): return 1  # words"),
        ("class C:\n    pass", "class C:\n    '''Words.'''"),
        ("def f(): ...", "def f():\n    '''Words.'''"),
        ("X = 'a' \"b\"\n'''Words.'''", "X = ('ab')"),
        ("f(1_000, x=2,)", "f(\n    1000,\n    x = 2\n)"),
        ("if a:\n    b\nelse:\n    pass", "if a:\n    b"),
    ],
)
def test_wording_and_layout_do_not_count(tmp_path: Path, one: str, other: str) -> None:
    assert _read(tmp_path, one).code == _read(tmp_path, other).code


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x = 1.0"),
        ("x = 1", "x = True"),
        ("x = 'a'", "x = b'a'"),
        ("x = f'{a}b'", "x = f'{a}c'"),
        ("x = f'{a}'", "x = f'{a!r}'"),
        ("x = a + b", "x = a - b"),
        ("x = a + b", "x = b + a"),
        ("x = a < b", "x = a <= b"),
        ("f(a, b)", "f(a), b"),
        ("f(a, *b)", "f(*a, b)"),
        ("def f(a, b=1): ...", "def f(a, *, b=1): ..."),
        ("def f(*, a, b=1): ...", "def f(*, a=1, b): ..."),
        ("{**a, 1: b}", "{1: b, **a}"),
        ("def f():\n    return 'a'", "def f():\n    'a'"),
        ("import a", "import b"),
        ("import numpy as np", "import cupy as np"),
        ("from a import b", "from .a import b"),
        ("x = None", "x = ..."),
        ("a; b", "b; a"),
        ("if a:\n    b\nc", "if a:\n    b\n    c"),
        ("def f():\n    return", "def f():\n    return None, "),
    ],
)
def test_what_runs_counts(tmp_path: Path, one: str, other: str) -> None:
    assert _read(tmp_path, one).code != _read(tmp_path, other).code


def _bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body:
                yield body


_in_one_folder = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
FILES = sorted(PACKAGE.rglob("*.py"))


@_in_one_folder
@given(data=st.data())
def test_docstrings_comments_and_blank_lines_anywhere(tmp_path: Path, data: st.DataObject) -> None:
    """In any file of this package: words before any statement, comments after any line."""
    source = data.draw(st.sampled_from(FILES)).read_text(encoding="utf-8")
    tree = ast.parse(source)
    starts = {
        statement.lineno: statement.col_offset
        for body in _bodies(tree)
        for statement in body
        if not getattr(statement, "decorator_list", None)
        and not source.splitlines()[statement.lineno - 1][: statement.col_offset].strip()
        and not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__")
        and not source.splitlines()[statement.lineno - 1].lstrip().startswith("elif")
    }
    if not starts:
        return
    chosen = data.draw(st.lists(st.sampled_from(sorted(starts)), max_size=5, unique=True))
    words = data.draw(st.text(st.characters(codec="utf-8", exclude_characters='"\\\r\n\x0c\x00')))
    lines = source.splitlines()
    for line in sorted(chosen, reverse=True):
        indent = " " * starts[line]
        lines[line - 1 : line - 1] = ["", f'{indent}"""{words}"""', f"# {words}"]
    changed = "\n".join(lines)
    assert _read(tmp_path, changed).code == _read(tmp_path, source).code
    assert _read(tmp_path, changed, PACKAGE).code == _read(tmp_path, source, PACKAGE).code


_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
}


@_in_one_folder
@given(data=st.data())
def test_any_operator_or_constant_counts(tmp_path: Path, data: st.DataObject) -> None:
    """In any file of this package one operator or one number is changed."""
    tree = ast.parse(data.draw(st.sampled_from(FILES)).read_text(encoding="utf-8"))
    before = _read(tmp_path, ast.unparse(tree), PACKAGE).code
    nodes: list[ast.BinOp | ast.Constant] = [
        node
        for node in ast.walk(tree)
        if (isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS)
        or (isinstance(node, ast.Constant) and type(node.value) in (int, float))
    ]
    if not nodes:
        return
    node = data.draw(st.sampled_from(nodes))
    if isinstance(node, ast.BinOp):
        node.op = _OPERATORS[type(node.op)]()
    elif isinstance(node.value, int | float):
        node.value = 2 * node.value + 1  # 1e300 + 1 is 1e300
    assert _read(tmp_path, ast.unparse(tree), PACKAGE).code != before


def test_deep_expressions(tmp_path: Path) -> None:
    """Deeper than Python's limit of recursion."""
    deep = "x = " + " + ".join(["a"] * 1500)
    assert _read(tmp_path, deep).code != _read(tmp_path, deep + " + b").code


@pytest.mark.parametrize("source", ["def f(:\n", "x = 1\x00\n", "  x\n"])
def test_what_is_not_python(tmp_path: Path, source: str) -> None:
    with pytest.raises(ConfigError, match=r"sample\.py: not valid Python"):
        _read(tmp_path, source)


class TestOwnPackage:
    """Files of a package whose modules may be moved and renamed."""

    @pytest.fixture
    def package(self, tmp_path: Path) -> Path:
        package = tmp_path / "mine"
        (package / "deep").mkdir(parents=True)
        for name in ("__init__", "rules", "laws", "deep/__init__", "deep/rules"):
            (package / f"{name}.py").write_text("RULE = 1\n", encoding="utf-8")
        return package

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("from mine.rules import rank\nrank()", "from mine.deep.rules import rank\nrank()"),
            ("from mine.rules import rank\nrank()", "from mine.rules import rank as r\nr()"),
            ("from mine import rules\nrules.rank()", "from mine import laws\nlaws.rank()"),
            ("from mine import rules\nrules.rank()", "from mine.rules import rank\nrank()"),
            ("from mine import rules\nrules.rank()", "from mine.deep import rules as r\nr.rank()"),
            ("def f():\n    from mine.rules import rank\n    rank()", "def f(): rank()"),
            ("if TYPE_CHECKING:\n    import pandas", ""),
            ("if t.TYPE_CHECKING:\n    from mine.rules import Rule", ""),
            ("__all__ = ['a']", "__all__ = ['b']"),
        ],
    )
    def test_where_modules_lie_does_not_count(self, package: Path, one: str, other: str) -> None:
        assert _read(package, one, package).code == _read(package, other, package).code

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("from mine.rules import a as f\nf()", "from mine.rules import b as f\nf()"),
            ("import numpy", "import scipy"),
            ("if TYPE_CHECKING:\n    x = 1", ""),
            ("if TYPE_CHECKING:\n    import a\nelse:\n    import b", ""),
            ("from mine import rules\nrules.rank()", "from mine import rules\nrules.order()"),
        ],
    )
    def test_what_is_imported_counts(self, package: Path, one: str, other: str) -> None:
        assert _read(package, one, package).code != _read(package, other, package).code

    def test_files(self, package: Path) -> None:
        source = (
            "import os\nfrom other import rules\nfrom mine.laws import RULE\n"
            "if TYPE_CHECKING:\n    from mine.rules import Rule\n"
            "def f():\n    from mine.deep import rules, RULE\n"
        )
        expected = {"laws.py", "deep/rules.py", "deep/__init__.py"}
        assert _read(package, source, package).files == {package / name for name in expected}


@pytest.mark.parametrize(
    ("folder", "module", "is_part"),
    [
        ("mine", "mine/words.py", True),
        ("lib/site-packages/mine", "lib/site-packages/mine/words.py", True),
        ("lib/site-packages", "lib/site-packages/numpy/core.py", False),
        ("mine", "mine/venv/lib/site-packages/numpy/core.py", False),
        ("mine", "others/words.py", False),
    ],
)
def test_modules_beside_a_plug_in_are_part_of_its_code(
    tmp_path: Path, folder: str, module: str, is_part: bool
) -> None:
    """Also of an installed package, but never the packages that it uses."""
    plugin, other = tmp_path / folder / "plugin.py", tmp_path / module
    for file in (plugin, other):
        file.parent.mkdir(parents=True, exist_ok=True)
    plugin.write_text("import other\n", encoding="utf-8")

    def hashes(text: str) -> list[str]:
        other.write_text(f"X = {text!r}\n", encoding="utf-8")
        return PluginSources(read_source, lambda *_: other).hashes([(plugin, None)])

    assert (hashes("one") != hashes("another")) == is_part


def test_modules_of_the_package_around_a_plug_in_are_part_of_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kind of import, and the constants of a module that nothing is called from."""
    files = {
        "__init__": "",
        "retrievers/x": "from sp.weights import K\nfrom .. import util\nclass Mine: pass\n",
        "util": "from .deep.rules import RULE\n",
        "weights": "K = 1\n",
        "deep/rules": "RULE = 1\n",
        "unused": "X = 1\n",
    }
    for name, text in files.items():
        file = tmp_path / "site-packages" / "sp" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    cls = importlib.import_module("sp.retrievers.x").Mine
    before, changes = identity.code_hash(cls), {}
    for name, text in files.items():
        file = tmp_path / "site-packages" / "sp" / f"{name}.py"
        file.write_text(f"{text}Y = 2\n", encoding="utf-8")
        changes[name] = identity.code_hash(cls) != before
        file.write_text(text, encoding="utf-8")
    assert [name for name, changed in changes.items() if not changed] == ["unused"]
    for name in [name for name in sys.modules if name.partition(".")[0] == "sp"]:
        monkeypatch.delitem(sys.modules, name)
