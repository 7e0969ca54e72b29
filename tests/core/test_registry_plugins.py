"""Plug-ins from files, modules and installed packages."""

import sys
from pathlib import Path

import pytest

from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.core.identity import plugin_identity
from target_bench.core.metric_function import resolve_metric
from target_bench.core.registry import create

MINE = """
class Mine:
    def __init__(self, size: int, mode: str = "fast", **options: object) -> None:
        self.size, self.mode, self.options = size, mode, options

class Closed:
    def __init__(self, untyped=3, odd: "object()" = None) -> None:
        self.untyped, self.odd = untyped, odd
"""


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def _install(folder: Path, name: str, entries: str) -> None:
    """What ``pip install`` leaves of a package with entry points."""
    info = folder / f"{name}-1.0.dist-info"
    _write(info / "METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    _write(info / "entry_points.txt", entries)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A file with plug-ins, in a folder whose name holds a space and dots."""
    return _write(tmp_path / "my plug.ins" / "mine.py", MINE)


def test_file_and_class(mine: Path) -> None:
    made = create("retriever", f"{mine}:Mine:size=3,mode=slow,extra=[1]")
    assert (made.size, made.mode, made.options) == (3, "slow", {"extra": [1]})


def test_a_file_imports_what_lies_beside_it(tmp_path: Path) -> None:
    """As a script does, also later and within packages; nothing else sees these modules."""
    _write(tmp_path / "pkg" / "__init__.py", "")
    _write(tmp_path / "pkg" / "inner.py", "from embedding import WHERE\nfrom . import sub\n")
    _write(tmp_path / "pkg" / "sub.py", "import pkg.last\nLAST = pkg.last.LAST\n")
    _write(tmp_path / "pkg" / "last.py", "LAST = 3\n")
    _write(tmp_path / "plain" / "words.py", "WORD = 'w'\n")
    _write(tmp_path / "embedding.py", "WHERE = 1\nclass Base:\n    pass\n")
    _write(tmp_path / "random.py", "1 / 0\n")
    plug = _write(
        tmp_path / "yaml.py",  # a file may have the name of the library that it uses
        "import embedding, random, yaml\nfrom plain import words\nimport pkg.inner as inner\n"
        "class A(embedding.Base):\n    def found(self):\n        import pkg.sub\n"
        "        from embedding import WHERE\n"
        "        return WHERE, inner.WHERE, pkg.sub.LAST, words.WORD, yaml.safe_load('[1]')\n",
    )
    path = list(sys.path)
    made = create("retriever", f"{plug}:A")
    assert made.found() == (1, 1, 3, "w", [1])
    assert sys.path == path
    assert not {"embedding", "pkg", "plain"} & sys.modules.keys()
    assert not list(tmp_path.rglob("*.pyc"))


def test_a_module_beside_a_file_is_read_again_where_it_has_changed(tmp_path: Path) -> None:
    """What runs is what the identity hashes; else it is kept: it may hold a model."""
    plug = _write(tmp_path / "plug.py", "import a\nclass A:\n    where = a.b.WHERE, a\n")
    _write(tmp_path / "a.py", "import b\n")
    _write(tmp_path / "b.py", "WHERE = 1\n")
    first, again = (create("retriever", f"{plug}:A") for _ in range(2))
    assert again.where == first.where == (1, first.where[1])
    _write(tmp_path / "b.py", "WHERE = 2\n")
    assert create("retriever", f"{plug}:A").where[0] == 2
    _write(plug, "class A:\n    where = 'here'\n")
    assert create("retriever", f"{plug}:A").where == "here"
    assert plugin_identity(first)[0]["class"] == "plug.py:A"  # an earlier object is still known


def test_an_edited_helper_is_read_again_for_each_file_that_uses_it(tmp_path: Path) -> None:
    plugs = [
        _write(tmp_path / f"{name}.py", "import a\nclass A:\n    where = a.X\n") for name in "bc"
    ]
    for x in (1, 2):
        _write(tmp_path / "a.py", f"X = {x}\n")
        made = [create("retriever", f"{plug}:A") for plug in plugs]
        assert [each.where for each in made] == [x, x]
        assert all(plugin_identity(each)[1] is None for each in made)
    _write(tmp_path / "a.py", "X = 3\n")
    create("retriever", f"{plugs[0]}:A")
    assert plugin_identity(made[1])[1] is None  # that of the other file, which was not asked for
    assert create("retriever", f"{plugs[1]}:A").where == 3


def test_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path / "their_package.py", MINE)
    _install(
        tmp_path,
        "theirs",
        "[target_bench.retrievers]\nTheir-Search = their_package:Mine\n"
        "[target_bench.corpora]\nlake = their_package:Closed\n",
    )
    assert "Their-Search" not in registry.names("retriever")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert registry.names("retriever")[-1] == "Their-Search"
    assert registry.names("corpus")[-1] == "lake"
    for name in ("Their-Search", "their_search", "THEIRSEARCH"):
        assert create("retriever", f"{name}:size=3").size == 3
    with pytest.raises(ConfigError, match=r"Did you mean Their-Search\?"):
        create("retriever", "Their-Serch")


def test_two_packages_with_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        _install(tmp_path, name, f"[target_bench.retrievers]\nsearch = {name}:Search\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError) as caught:
        create("retriever", "search")
    for part in ("two installed packages", "'search'", "one:Search", "two:Search"):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("raise ValueError('no luck')", "ValueError: no luck"),
        ("import no_such_module_at_all", "No module named 'no_such_module_at_all'"),
    ],
)
def test_a_module_that_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, fault: str
) -> None:
    """As with a file: the message has what importing it raised, and its line."""
    _write(tmp_path / "bad_plugin.py", f"import json\n{text}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError, match=rf'{fault}\n.*bad_plugin\.py", line 2'):
        create("retriever", "bad_plugin:Class")


def test_a_ranking_metric_with_its_cutoff_is_no_plug_in() -> None:
    with pytest.raises(ConfigError, match=r"unknown metric 'recall@3'\. .* cutoffs of top_k"):
        registry.resolve("metric", "recall@3")


def test_a_ranking_metric_without_its_cutoff_is_refused_before_any_work() -> None:
    with pytest.raises(ConfigError, match=r"'recall' has a cutoff: .* cutoffs of top_k"):
        resolve_metric("recall")
