"""Two runs are the same run exactly when nothing that can change a result differs."""

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core import registry
from target_bench.core.contract import Retriever
from target_bench.core.errors import ConfigError
from target_bench.core.identity import code_hash, plugin_identity
from target_bench.core.ranking import Ranking
from target_bench.core.schema import Corpus
from target_bench.runs.manifest import run_key

SOURCE = """
class Mine:
    def __init__(self, k1: float = 1.2) -> None:
        self.k1 = k1

    def embed_corpus(self, corpus):
        pass

    def retrieve(self, query, top_k):
        return []
"""

json_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.sampled_from(["ü", "\ud800"])),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(max_size=5), inner)),
    max_leaves=6,
)


class Plain(Retriever):
    """A retriever of this test module."""

    packages = ("numpy", "no-such-distribution")

    def __init__(self, weight: float = 1.0, fields: tuple[str, ...] = ("title",)) -> None:
        self.weight = weight
        self.fields = fields

    def embed_corpus(self, corpus: Corpus) -> None: ...

    def retrieve(self, query: str, top_k: int) -> Ranking:
        return []


class Forgetful(Plain):
    """Does not keep its argument."""

    def __init__(self, seed: int) -> None:
        super().__init__()


class Configured(Forgetful):
    """Says itself what its settings are."""

    def config(self) -> dict[str, Any]:
        return {"seed": 7}


def _write(path: Path, source: str = SOURCE) -> str:
    path.write_text(source, encoding="utf-8")
    return f"{path}:Mine"


def _identity(spec: str) -> dict[str, Any]:
    identity, warning = plugin_identity(registry.create("retriever", spec))
    assert warning is None
    return identity


def test_what_it_holds() -> None:
    identity, warning = plugin_identity(Plain(0.5))
    assert warning is None
    assert identity["class"] == f"{__name__}:Plain"
    assert identity["config"] == {"weight": 0.5, "fields": ["title"]}
    assert "packages" not in identity
    assert identity["code"] == code_hash(Plain)
    assert plugin_identity(Plain(0.5)) == (identity, None)


def test_settings_count() -> None:
    identities = [plugin_identity(p)[0] for p in (Plain(), Plain(2.0), Plain(fields=("a", "b")))]
    assert len({run_key(identity) for identity in identities}) == 3


def test_source_file_counts(tmp_path: Path) -> None:
    spec = _write(tmp_path / "mine.py")
    first = _identity(spec)
    assert _identity(spec) == first
    _write(tmp_path / "mine.py", SOURCE.replace("1.2", "1.3"))
    changed = _identity(spec)
    assert changed["code"] != first["code"]
    assert run_key(changed) != run_key(first)
    _write(tmp_path / "mine.py")
    assert _identity(spec) == first


def test_a_file_of_which_only_constants_are_imported_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it is imported: in a function too, and from a package beside the plug-in."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "__init__.py").write_text("", encoding="utf-8")
    (tmp_path / "weights" / "title.py").write_text("WEIGHT = 1\n", encoding="utf-8")
    (tmp_path / "late.py").write_text("LATE = 1\n", encoding="utf-8")
    late = SOURCE.replace("        pass", "        from late import LATE")
    spec = _write(tmp_path / "mine.py", "from weights.title import WEIGHT\n" + late)
    first = _identity(spec)
    (tmp_path / "weights" / "title.py").write_text("WEIGHT = 2\n", encoding="utf-8")
    second = _identity(spec)
    assert second["code"] != first["code"]
    (tmp_path / "late.py").write_text("LATE = 2\n", encoding="utf-8")
    assert _identity(spec)["code"] != second["code"]


def test_file_that_is_not_valid_python_any_more(tmp_path: Path) -> None:
    retriever = registry.create("retriever", _write(tmp_path / "mine.py"))
    _write(tmp_path / "mine.py", "class Mine(:\n")
    with pytest.raises(ConfigError, match=r"mine\.py: not valid Python .* correct it"):
        plugin_identity(retriever)


def test_imported_files_beside_it_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that such a file imports; the standard library and installed packages do not."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "deepest.py").write_text("K = 1\n", encoding="utf-8")
    (tmp_path / "helper.py").write_text("import deepest\n", encoding="utf-8")
    spec = _write(tmp_path / "mine.py", "import json, numpy\nimport helper\n" + SOURCE)
    first = _identity(spec)
    (tmp_path / "other.py").write_text("", encoding="utf-8")
    assert _identity(spec) == first
    (tmp_path / "deepest.py").write_text("K = 2\n", encoding="utf-8")
    assert _identity(spec)["code"] != first["code"]


def test_where_a_file_lies_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "moved").mkdir()
    specs = [_write(tmp_path / "mine.py"), _write(tmp_path / "moved" / "mine.py")]
    here, there = map(_identity, specs)
    assert here == there
    assert here["class"] == "mine.py:Mine"


def test_source_files_of_the_bases_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file on the path of Python; those beside a plug-in are in the test above."""
    library = tmp_path / "library"
    library.mkdir()
    monkeypatch.syspath_prepend(library)
    base = "target_bench_test_base"
    _write(library / f"{base}.py")
    inherited = f"from {base} import Mine as Base\n\nclass Mine(Base):\n    pass\n"
    spec = _write(tmp_path / "mine.py", inherited)
    first = _identity(spec)
    _write(library / f"{base}.py", SOURCE.replace("return []", "return [query]"))
    assert _identity(spec)["code"] != first["code"]
    sys.modules.pop(base)


def test_class_that_was_typed() -> None:
    """It has no file: its runs are kept, and never reused."""
    namespace: dict[str, Any] = {"__name__": "typed_into_an_interpreter"}
    exec(SOURCE, namespace)
    mine = namespace["Mine"]()
    first, warning = plugin_identity(mine)
    second, _ = plugin_identity(mine)
    assert warning is not None
    for part in ("Mine cannot be identified", "never be reused", "define the class in a file"):
        assert part in warning
    assert run_key(first) != run_key(second)


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"weight": object()}, "not JSON"),
        ({"weight": {1, 2}}, "not JSON"),
        ({"fields": b"title"}, "not JSON"),
    ],
)
def test_settings_that_are_not_json(settings: dict[str, Any], fault: str) -> None:
    first, warning = plugin_identity(Plain(**settings))
    assert warning is not None
    assert fault in warning
    assert "Plain cannot be identified" in warning
    assert run_key(first) != run_key(plugin_identity(Plain(**settings))[0])


def test_settings_that_are_not_kept() -> None:
    first, warning = plugin_identity(Forgetful(1))
    assert warning is not None
    assert "seed" in warning
    assert run_key(first) != run_key(plugin_identity(Forgetful(1))[0])


def test_config_of_its_own() -> None:
    identity, warning = plugin_identity(Configured(1))
    assert warning is None
    assert identity["config"] == {"seed": 7}


@given(json_values)
def test_key_of_any_settings(value: Any) -> None:
    """Twelve hexadecimal digits, whatever the settings hold."""
    key = run_key({"config": value})
    assert len(key) == 12
    assert int(key, 16) >= 0
    assert run_key({"config": value}) == key
    assert run_key({"config": [value]}) != key


def test_key_is_the_same_everywhere() -> None:
    """The order of the entries does not count; a key of today is found again tomorrow."""
    one = {"a": 1, "b": {"c": ["ü", None], "d": 0.1}}
    other = {"b": {"d": 0.1, "c": ["ü", None]}, "a": 1}
    assert run_key(one) == run_key(other) == "8cc29709546b"


class Open(Plain):
    """Settings that leave no trace under a name of their own."""

    def __init__(self, **settings: int) -> None:
        self.settings = settings


def test_open_ended_constructors_are_never_reused() -> None:
    one, warning = plugin_identity(Open(s=1))
    assert one != plugin_identity(Open(s=1))[0]
    assert warning is not None
    assert "**kwargs" in warning
