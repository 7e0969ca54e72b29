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
    def __init__(self, size: int = LEAST) -> None:
        self.size = size
    def embed_corpus(self, corpus: "Corpus") -> None: ...
    def retrieve(self, query, top_k):
        return [helper(word) for word in query.split()]
"""
HELPER = "def helper(word): return word.lower()"
CELLS = ("LEAST = 3", HELPER, MINE)

Cells = Callable[..., dict[str, Any]]


@pytest.fixture
def typed() -> Cells:
    """Run cells as IPython does: no file has their source, but ``linecache`` has."""
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
    assert identity["config"] == {"size": 3}


@pytest.mark.parametrize(
    "cells",
    [
        ("LEAST = 4", HELPER, MINE),
        ("LEAST = 3.0", HELPER, MINE),
        ("LEAST = 3", HELPER.replace("lower", "upper"), MINE),
        ("LEAST = 3", HELPER, MINE.replace("split()", "split(' ')")),
        (*CELLS, "def retrieve(self, query, top_k): return []", "Mine.retrieve = retrieve"),
        ("LEAST = 3", "def deep(w): return w.lower()", "def helper(w): return deep(w)", MINE),
    ],
)
def test_whatever_a_class_uses_is_part_of_its_hash(typed: Cells, cells: tuple[str, ...]) -> None:
    assert code_hash(typed(*cells)["Mine"]) != code_hash(typed(*CELLS)["Mine"])


@pytest.mark.parametrize("decorator", ["contextmanager", "lru_cache", "staticmethod", "property"])
def test_decorated_methods_count(typed: Cells, decorator: str) -> None:
    """As those below ``torch.no_grad()``, whose wrapper stands in a file."""
    imports = "from contextlib import contextmanager\nfrom functools import lru_cache"
    methods = f"class More(Mine):\n    @{decorator}\n    def low(word): return word.lower()"
    first, again, other = (
        code_hash(typed(imports, *CELLS, cell)["More"])
        for cell in (methods, methods, methods.replace("lower", "upper"))
    )
    assert first == again != other


def test_bases_from_cells_count(typed: Cells) -> None:
    child = "class Child(Mine):\n    def more(self): return re.sub('a', 'b', str(len(RULES)))"
    rules = "import re\nRULES = {'a': [1, None], 'c': ('x', 2.5)}"
    upper = HELPER.replace("lower", "upper")
    same, again, other_rule, other_base = (
        code_hash(typed(*cells, child)["Child"])
        for cells in (
            (*CELLS, rules),
            (*CELLS, rules),
            (*CELLS, rules.replace("'x'", "'y'")),
            ("LEAST = 3", upper, MINE, rules),
        )
    )
    assert same == again
    assert len({same, other_rule, other_base}) == 3


@pytest.mark.parametrize("word", ["import own_words", "from own_words import low"])
@pytest.mark.parametrize("inside", [True, False])
def test_own_modules_count(
    typed: Cells, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, inside: bool
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    call = "own_words.low(word)" if word == "import own_words" else "low(word)"
    helper = f"def helper(word):\n    {word if inside else 'pass'}\n    return {call}"

    def hashed(body: str) -> str:
        (tmp_path / "own_words.py").write_text(f"def low(word): return word.{body}()\n")
        return code_hash(typed(word, "LEAST = 3", helper, MINE)["Mine"])

    monkeypatch.delitem(__import__("sys").modules, "own_words", raising=False)
    assert hashed("lower") != hashed("casefold")


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        (("helper = print.__self__.open.__call__", MINE), "a method-wrapper"),
        (("class K:\n    def m(self, w): return w\nhelper = K().m", MINE), "a method"),
        (("THINGS = object()", "def helper(word): return THINGS", MINE), "a object"),
        (("helper = __import__('functools').partial(str)", MINE), "a partial"),
    ],
)
def test_what_cannot_be_identified_is_never_reused(
    typed: Cells, cells: tuple[str, ...], why: str
) -> None:
    identity, warning = plugin_identity(typed("LEAST = 3", *cells)["Mine"](3))
    assert "unique" in identity
    assert f"{why}, which is not identified" in (warning or "")


@pytest.mark.parametrize(
    "cells",
    [
        ("def make(n):\n    def made(answer):\n        return n\n    return made", "f = make(1)"),
        ("class Given:\n    n = 1", "f = Given"),
        ("class Given:\n    n = 1", "def f(answer): return Given.n"),
    ],
)
def test_what_has_no_source_has_no_identity(
    typed: Cells, cells: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function with variables of the one that made it; a class without methods."""
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "<stdin>", raising=False)
    with pytest.raises(OSError, match=r"uses variables of the function|no source for Given"):
        code_hash(typed(*cells)["f"])


def test_code_without_a_kept_source_has_no_identity(typed: Cells) -> None:
    """As of an interpreter, or of ``exec``."""
    mine = typed(*CELLS)["Mine"]
    linecache.cache.clear()
    identity, warning = plugin_identity(mine())
    assert "unique" in identity
    assert "cannot be identified" in (warning or "")


USES = {
    "bases of a class that it uses": (
        "class Base:\n    def size(self): return {}",
        "class Made(Base):\n    def more(self): return 2",
        "def helper(word): return Made().size()",
    ),
    "lambdas of one name": (
        "low = lambda word: word.lower()\nlater = lambda word: word[{}:]",
        "def helper(word): return later(low(word))",
    ),
    "a decorator that was typed in": (
        "from functools import wraps\ndef times(f):\n    @wraps(f)\n"
        "    def made(*a): return {} * f(*a)\n    return made",
        "@times\ndef helper(word): return word",
    ),
    "a function in a cache of answers": (
        "from functools import lru_cache",
        "@lru_cache\ndef helper(word): return word[{}:, ...]",
    ),
    "fields of a data class": (
        "from dataclasses import dataclass, field",
        "@dataclass\nclass Given:\n    n: int = {}\n    more: dict = field(default_factory=dict)\n"
        "    def size(self): return self.n",
        "def helper(word): return Given().size()",
    ),
    "cached properties": (
        "from functools import cached_property",
        "class Given:\n    @cached_property\n    def n(self): return {}",
        "def helper(word): return Given().n",
    ),
}


@pytest.mark.parametrize("use", USES)
def test_what_is_used_indirectly_counts(
    typed: Cells, use: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "<stdin>", raising=False)
    first, same, other = (
        code_hash(typed("LEAST = 3", *(c.replace("{}", str(n)) for c in USES[use]), MINE)["Mine"])
        for n in (1, 1, 2)
    )
    assert first == same != other
