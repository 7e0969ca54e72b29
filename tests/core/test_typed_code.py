"""Identity of classes that were typed into a notebook, by the source that IPython keeps."""

import linecache
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.identity import code_hash, plugin_identity

MINE = """
class Mine:
    "Ranks by nothing."
    least = 3
    def __init__(self, size: int = 2) -> None:
        self.size = size
    def embed_corpus(self, corpus: "Corpus") -> None: ...
    def retrieve(self, query, top_k):
        return [helper(word) for word in query.split()]
"""
HELPER = "def helper(word): return word.lower()"
CELLS = (HELPER, MINE)

Cells = Callable[..., dict[str, Any]]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Cells:
    """Run cells as IPython does: no file has their source, but ``linecache`` has."""
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    numbers = count()

    def run(*cells: str) -> dict[str, Any]:
        names: dict[str, Any] = {"__name__": "__main__"}
        for cell in cells:
            name = f"<cell {next(numbers)}>"
            linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
            exec(compile(cell, name, "exec"), names)
        return names

    return run


def test_the_same_cells_have_the_same_hash(typed: Cells) -> None:
    mine = typed(*CELLS)["Mine"]
    again = typed(HELPER, "LEAST = 3", "print", MINE + "\n# more\n\n3 + 4")["Mine"]
    assert code_hash(mine) == code_hash(again)
    identity, warning = plugin_identity(mine())
    assert warning is None
    assert identity["class"] == "__main__:Mine"
    assert identity["config"] == {"size": 2}


# Cells with {}: they make another class where it is 2 instead of 1.
USES = {
    "its source": (HELPER, MINE.replace("split()", "split('{}')")),
    "an attribute set afterwards": (*CELLS, "Mine.least = {}"),
    "a function": ("def helper(word): return word[{}:]", MINE),
    "a function of a function": (
        "def deep(word): return word[{}:]",
        "def helper(word): return deep(word)",
        MINE,
    ),
    "one of two functions by another name": (
        "def one(word): return [two, helper]\ndef two(word): return one",
        "helper = (None, one, two)[{}]",
        MINE + "    def more(self): return one, two",
    ),
    "a function of a library by its name": (
        "import html, re\nhelper = (None, html, re)[{}].escape",
        MINE,
    ),
    "bases": (
        "class Base:\n    def size(self): return {}",
        HELPER,
        MINE.replace("Mine:", "Mine(Base):"),
    ),
    "bases of a class that it uses": (
        "class Base:\n    def size(self): return {}",
        "class Made(Base):\n    def more(self): return 2",
        "def helper(word): return Made().size()",
        MINE,
    ),
    "a decorator": (
        "def twice(function):\n    function.times = {}\n    return function",
        "@twice\ndef helper(word): return word",
        MINE,
    ),
    "a data class": (
        "from dataclasses import dataclass",
        "@dataclass\nclass Given:\n    n: int = {}\n    def size(self): return self.n",
        "def helper(word): return Given().size()",
        MINE,
    ),
    **{
        f"a method below {decorator}": (
            "from contextlib import contextmanager\nfrom functools import *",
            HELPER,
            f"{MINE}    @{decorator}\n    def low(word): return word[{{}}:]",
        )
        for decorator in ("contextmanager", "lru_cache", "staticmethod", "cached_property")
    },
}


@pytest.mark.parametrize("use", USES)
def test_source_and_what_it_names_count(typed: Cells, use: str) -> None:
    first, same, other = (
        code_hash(typed(*(cell.replace("{}", str(n)) for cell in USES[use]))["Mine"])
        for n in (1, 1, 2)
    )
    assert first == same != other


@pytest.mark.parametrize("word", ["import own.words", "from own.words import low"])
@pytest.mark.parametrize("inside", [True, False])
def test_own_modules_count(
    typed: Cells, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, inside: bool
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    call = "own.words.low(word)" if word == "import own.words" else "low(word)"
    helper = f"def helper(word):\n    {word if inside else 'pass'}\n    return {call}"
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "__init__.py").touch()

    def hashed(body: str) -> str:
        (tmp_path / "own" / "words.py").write_text(f"def low(word): return word.{body}()\n")
        return code_hash(typed(word, helper, MINE)["Mine"])

    for name in ("own", "own.words"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert hashed("lower") == hashed("lower") != hashed("casefold")


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        (("helper = 3", MINE), "it uses helper (int)"),
        (("helper = __import__('functools').partial(str)", MINE), "it uses helper (partial)"),
        (("helper = lambda word: word", MINE), "makes <lambda>"),
        (("class K:\n    def m(self): ...\nhelper = K().m", MINE), "it uses helper (method)"),
        (
            ("def make():\n    def helper(word): ...\n    return helper\nhelper = make()", MINE),
            "helper",
        ),
        (("from functools import lru_cache", f"@lru_cache\n{HELPER}", MINE), "it uses helper"),
        (("class helper:\n    n = 1", MINE), "makes helper as it is"),
        (("K = 3", HELPER, MINE.replace("= 2", "= K")), "it uses K (int)"),
        ((MINE,), "it uses helper (NoneType)"),
        (
            (*CELLS, "def retrieve(self, query, top_k): return []", "Mine.retrieve = retrieve"),
            "Mine as",
        ),
        ((*CELLS, "Mine.retrieve = staticmethod(helper)"), "Mine as it is now"),
        (
            (*CELLS, "Old = Mine", MINE.replace("split", "strip"), "Mine.retrieve = Old.retrieve"),
            "Mine as",
        ),
        (
            (
                "from functools import wraps\ndef times(f):\n    @wraps(f)\n"
                "    def made(*a): return 2 * f(*a)\n    return made",
                *CELLS,
                "Mine.retrieve = times(Mine.retrieve)",
            ),
            "Mine as it is now",
        ),
    ],
)
def test_what_has_no_source_is_never_reused(typed: Cells, cells: tuple[str, ...], why: str) -> None:
    mine = typed(*cells)["Mine"]
    (first, warning), (second, _) = plugin_identity(mine(3)), plugin_identity(mine(3))
    assert first["unique"] != second["unique"]
    assert why in str(warning)
    assert "will never be reused" in str(warning)


def test_code_without_a_kept_source_has_no_identity(typed: Cells) -> None:
    """As of an interpreter, or of ``exec``."""
    mine = typed(*CELLS)["Mine"]
    linecache.cache.clear()
    identity, warning = plugin_identity(mine())
    assert "unique" in identity
    assert "cannot be identified" in (warning or "")
