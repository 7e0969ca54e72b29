"""Identity of classes that were typed into a notebook, by the source that IPython keeps."""

import linecache
import subprocess
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
    "an attribute of a name": (*CELLS, "Mine.more = {}"),
    "an attribute of a function": (*CELLS, "Mine.retrieve.words = {{}}"),
    "a set of the class": (HELPER, MINE + "    words = {{}, 5}"),
    "a dictionary of pairs": (HELPER, MINE + "    weights = {('a', 'b'): {}}"),
    "a dictionary of pairs set again": (
        HELPER,
        MINE + "    weights = {('a', 'b'): 0}",
        "Mine.weights = {('a', 'b'): {}}",
    ),
    "an array set again": (
        f"import numpy\n{HELPER}",
        MINE + "    import numpy\n    weights = numpy.ones(3000)",
        "Mine.weights[1500] = {} + 1",
    ),
    "an inner class": (HELPER, MINE + "    class Inner: n = 0", "Mine.Inner.n = {}"),
    "a function of an inner class": (
        HELPER,
        MINE + "    class Inner:\n        def n(self): return {}",
    ),
    "a closure of a library set again": (
        f"from operator import methodcaller\nfrom contextlib import contextmanager\n{HELPER}",
        MINE + "    call = contextmanager(methodcaller('x'))",
        "Mine.call = contextmanager(methodcaller('{}'))",
    ),
    "a function of Python": (HELPER, MINE + "    norm = (str.lower, str.upper)[{} - 1]"),
    "a class of Python": (
        f"from collections import Counter, OrderedDict\n{HELPER}",
        MINE + "    kind = (Counter, OrderedDict)[{} - 1]",
    ),
    "a class of a cell": (
        "class Kind:\n    def n(self): return {}",
        HELPER,
        MINE + "    kind = Kind",
    ),
    "a class of a cell set again": (
        "class Kind:\n    def n(self): return {}",
        HELPER,
        MINE + "    kind = str",
        "Mine.kind = Kind",
    ),
    "a class inside if": (HELPER, "if True:" + MINE.replace("\n", "\n    ") + "    least = {}"),
    "an alias of a cell": (
        "Ids = list[(str, int)[{} - 1]]",
        HELPER,
        MINE + "    def more(self) -> Ids: ...",
    ),
    "an alias of a class of a cell": (
        "class Id:\n    def n(self): return {}",
        "Ids = dict[str, Id] | None",
        HELPER,
        MINE + "    def more(self) -> Ids: ...",
    ),
    "a function below lru_cache": (
        "from functools import lru_cache",
        "@lru_cache\ndef helper(word): return word[{}:]",
        MINE,
    ),
    "a class of attrs": (
        f"import attrs\n{HELPER}",
        "@attrs.define" + MINE + "    n: int = {}\n    words: list = attrs.field(factory=list)",
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
    if "attrs" in use:
        pytest.importorskip("attrs")
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


TIMES = """
from functools import wraps
def times(f):
    @wraps(f)
    def made(*a): return 2 * f(*a)
    return made
"""
HELPER_OF_A_FUNCTION = "def make():\n    def helper(word): ...\n    return helper"
WITHOUT_SOURCE = {
    "a variable": ("helper = 3", MINE),
    "a partial function": ("helper = __import__('functools').partial(str)", MINE),
    "a lambda": ("helper = lambda word: word", MINE),
    "a bound method": ("class K:\n    def m(self): ...\nhelper = K().m", MINE),
    "a function made by one": (f"{HELPER_OF_A_FUNCTION}\nhelper = make()", MINE),
    "a class without methods": ("class helper:\n    n = 1", MINE),
    "a default": ("K = 3", HELPER, MINE.replace("= 2", "= K")),
    "nothing": (MINE,),
    "a function put in": (*CELLS, "def retrieve(*_): return []\nMine.retrieve = retrieve"),
    "a method put in": (*CELLS, "Mine.retrieve = staticmethod(helper)"),
    "a method of an older class": (
        *CELLS,
        "Old = Mine",
        MINE.replace("split", "strip"),
        "Mine.retrieve = Old.retrieve",
    ),
    "a method wrapped afterwards": (TIMES, *CELLS, "Mine.retrieve = times(Mine.retrieve)"),
    "a function wrapped afterwards": (TIMES, *CELLS, "helper = times(helper)"),
    "a property put in": (*CELLS, "Mine.more = property(lambda self: 1)"),
    "a special method put in": (*CELLS, "Mine.__call__ = lambda self: 1"),
    "a method of an inner class put in": (
        HELPER,
        MINE + "    class Inner:\n        def n(self): return 1",
        "Mine.Inner.n = lambda self: 2",
    ),
    "a partial function put in": (
        f"from functools import partial\nfrom html import escape\n{HELPER}",
        MINE,
        "Mine.more = partial(escape, quote=True)",
    ),
    "a set put in": (*CELLS, "Mine.words = {1}"),
    "an array put in": (*CELLS, "import numpy\nMine.words = numpy.ones(3)"),
}


@pytest.mark.parametrize("use", WITHOUT_SOURCE)
def test_what_has_no_source_is_never_reused(typed: Cells, use: str) -> None:
    mine = typed(*WITHOUT_SOURCE[use])["Mine"]
    (first, warning), (second, _) = plugin_identity(mine(3)), plugin_identity(mine(3))
    assert first["unique"] != second["unique"]
    assert "will never be reused" in str(warning)


@pytest.mark.parametrize("methods", ["", "    def more(self): ...\n"])
@pytest.mark.parametrize("maker", ["attrs.define", "dataclass"])
def test_a_script_is_a_file(tmp_path: Path, maker: str, methods: str) -> None:
    """Methods that a decorator writes are in no file, but their class is."""
    pytest.importorskip("attrs")
    script = tmp_path / "script.py"

    def hashed(more: str) -> str:
        script.write_text(
            "import attrs\nfrom dataclasses import dataclass\n"
            f"from target_bench.core.identity import code_hash\n"
            f"@{maker}\nclass Mine:\n    n: int = 1\n{methods}"
            f"words = {{1}}\n{more}print(code_hash(Mine))\n"
        )
        return subprocess.run(
            [sys.executable, script], capture_output=True, text=True, check=True
        ).stdout

    assert hashed("") == hashed("") != hashed("# more\n")


def test_code_without_a_kept_source_has_no_identity(typed: Cells) -> None:
    """As of an interpreter, or of ``exec``."""
    mine = typed(*CELLS)["Mine"]
    linecache.cache.clear()
    identity, warning = plugin_identity(mine())
    assert "unique" in identity
    assert "cannot be identified" in (warning or "")
