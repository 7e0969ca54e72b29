"""What identifies a plug-in: its code, and the content of the files that its settings name."""

import importlib
import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from target_bench import evaluate
from target_bench.core import registry
from target_bench.core.built_in import BUILT_IN, Kind
from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.identity import code_hash, object_label, plugin_identity, used_packages
from target_bench.core.registry import installed_version
from target_bench.core.vectors import Encoder, TextKind, Vectors
from target_bench.core.version import __version__
from target_bench.retrievers.bm25 import BM25
from target_bench.retrievers.hybrid import Hybrid

PLUGIN_KINDS: tuple[Kind, ...] = ("retriever", "encoder", "index", "generator")


class Reading:
    """A retriever of this module: its settings may name files."""

    packages = ("numpy", "no-such-distribution")

    def __init__(self, config: Any = None) -> None:
        self.config = config

    def embed_corpus(self, corpus: object) -> None: ...

    def retrieve(self, query: str, top_k: int) -> list[Any]:
        return []


def _identity(plugin: object) -> dict[str, Any]:
    identity, warning = plugin_identity(plugin)
    assert warning is None, warning
    return identity


class Hosted:
    def __init__(self, url: str = "a", api_key: str | None = None) -> None:
        self.url, self.api_key = url, api_key


@pytest.mark.parametrize(
    ("plugin", "label"),
    [
        (Reading(), "Reading"),
        (Reading(0.5), "Reading:config=0.5"),
        (Reading(True), "Reading:config=true"),
        (Reading({"a": 1}), 'Reading:config={"a": 1}'),
        (Reading("two words"), 'Reading:config="two words"'),
        (Reading("/models/e5"), "Reading:config=/models/e5"),
        (Reading("x" * 99), f"Reading:config={'x' * 50}…d0621f"),
        (Reading("\ud800" + "x" * 99), 'Reading:config="\ud800' + "x" * 48 + "…67ea1f"),
        (BM25(k1=0.9, fields=("title",)), 'BM25:fields=["title"],k1=0.9'),
        (Hybrid([BM25(k1=0.9), "tfidf"]), 'Hybrid:retrievers=["BM25:k1=0.9", "tfidf"]'),
        (Hosted("b", "s3cret"), "Hosted:url=b"),
    ],
)
def test_an_object_is_called_by_its_class_and_what_is_not_the_default(
    plugin: object, label: str
) -> None:
    assert object_label(plugin, _identity(plugin)) == label


# Files that settings name: an edited configuration, prompt or model is another plug-in


@pytest.mark.parametrize("name", ["cfg.json", "prompt", "deep/model.yaml"])
def test_an_edited_file(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("rows: 50", encoding="utf-8")
    before = _identity(Reading(str(file)))
    assert before["files"] == _identity(Reading(file))["files"]
    file.write_text("rows: 0", encoding="utf-8")
    after = _identity(Reading(str(file)))
    assert before["files"].keys() == after["files"].keys() == {"config"}
    assert before["files"] != after["files"]
    file.write_text("rows: 50", encoding="utf-8")
    assert _identity(Reading(str(file))) == before


def test_names_in_this_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of files, also inside of settings; a word of a built-in plug-in is a name and no folder."""
    stemmed = _identity(BM25(stemmer="english"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("1", encoding="utf-8")
    (tmp_path / "english").mkdir()
    identity = _identity(Reading({"prompts": ["a.txt", "none.txt"], "n": 3}))
    assert identity["files"].keys() == {"config.prompts.0"}
    assert _identity(BM25(stemmer="english")) == stemmed


def test_a_folder_counts_with_names_and_contents(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    (folder / "deep").mkdir(parents=True)
    weights = folder / "deep" / "weights"

    def hashed() -> str:
        files: dict[str, str] = _identity(Reading(str(folder)))["files"]
        return files["config"]

    weights.write_bytes(b"1")
    first = hashed()
    (folder / ".cache").write_bytes(b"hidden files do not count")
    assert hashed() == first
    weights.write_bytes(b"2")
    second = hashed()
    weights.rename(folder / "weights")
    assert len({first, second, hashed()}) == 3


def test_a_folder_of_too_many_files_is_never_reused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("target_bench.core.identity._MOST_FILES", 2)
    for name in "abc":
        (tmp_path / name).touch()
    identity, warning = plugin_identity(Reading(str(tmp_path)))
    assert "unique" in identity
    assert "holds over 2 files; if they change no result" in (warning or "")


@pytest.mark.parametrize("text", ["/", ".", "..", "~", "no/such/file", "a\x00b", "x" * 5000])
def test_what_names_nothing(text: str) -> None:
    assert "files" not in _identity(Reading(text))


def test_a_model_that_says_its_revision_is_not_read_twice(tmp_path: Path) -> None:
    class Own(Encoder):
        def __init__(self, model: str) -> None:
            self.model = model

        def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
            raise NotImplementedError

        def revision(self) -> str | None:
            return "r1"

    identity = _identity(Own(str(tmp_path)))
    assert (identity["revision"], "files" in identity) == ("r1", False)


# Versions: of packages they are recorded and are no part of an identity


def _built_in() -> dict[str, Any]:
    """The built-in plug-ins that can be made, and identified, without settings or a network."""
    plugins = {}
    for kind in PLUGIN_KINDS:
        for name in BUILT_IN[kind]:
            with suppress(ConfigError, MissingExtraError):
                plugin = registry.create(kind, name)
                plugin_identity(plugin)
                plugins[f"{kind} {name}"] = plugin
    return plugins


def test_no_built_in_depends_on_versions_of_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    plugins = _built_in()
    before = {name: _identity(plugin) for name, plugin in plugins.items()}
    assert len(before) > 5
    assert all(type(plugin).VERSION for plugin in plugins.values())
    installed_version.cache_clear()
    metadata = "Name: any\nVersion: 9.9.9\n\nVersion: 1\n"
    monkeypatch.setattr(importlib.metadata.PathDistribution, "read_text", lambda *_: metadata)
    assert {name: _identity(plugin) for name, plugin in plugins.items()} == before
    assert used_packages(BM25())["numpy"] == "9.9.9"
    monkeypatch.undo()
    installed_version.cache_clear()


def test_recorded_packages_are_those_in_use() -> None:
    """Of the chosen backend alone, and of parts."""
    numpy = {"target-bench": __version__, "numpy": installed_version("numpy")}
    assert used_packages(Reading()) == numpy
    assert "rank-bm25" not in BM25().packages
    assert "rank-bm25" in BM25(backend="rank-bm25").packages
    hybrid = registry.create("retriever", "hybrid:retrievers=[bm25, random]")
    assert {"numpy", "bm25s"} <= used_packages(hybrid).keys()


def test_a_built_in_is_identified_by_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a subclass the source counts, too."""

    class Mine(BM25):
        pass

    own, mine = _identity(BM25()), _identity(Mine())
    assert own.keys() == {"class", "version", "config"}
    assert (own["class"], own["version"]) == ("BM25", BM25.VERSION)
    assert mine.keys() == {"class", "version", "code", "config"}
    monkeypatch.setattr(BM25, "VERSION", "next")
    assert _identity(BM25()) != own
    assert _identity(Mine())["code"] != mine["code"]


# Code of users

PACKAGE_FILES = {
    "__init__": "",
    "retrievers/__init__": "",
    "retrievers/x": "from sp.weights import K\nfrom .. import util\nclass Mine: pass\n",
    "util": "from .deep.types import RULE\n",
    "weights": "K = 1\n",
    "deep/types": "RULE = 1\n",
    "unused": "X = 1\n",
}


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """No module of these tests stays imported."""
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] in ("sp", "beside_sp")]:
        del sys.modules[name]


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = folder / "sp" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("place", ["site-packages", "src"])
def test_modules_of_the_package_around_a_plug_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Each kind of import, and constants; all of a package that is installed."""
    folder = tmp_path / place
    _write(folder, PACKAGE_FILES)
    monkeypatch.syspath_prepend(folder)
    cls = importlib.import_module("sp.retrievers.x").Mine
    before, unseen = code_hash(cls), []
    for name, text in PACKAGE_FILES.items():
        _write(folder, {name: f"{text}Y = 2\n"})
        unseen += [name] * (code_hash(cls) == before)
        _write(folder, {name: text})
    assert unseen == ([] if place == "site-packages" else ["unused"])


def test_a_package_installed_for_editing_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lies elsewhere, on the path of Python: the code of a project that is worked on."""
    source = tmp_path / "project" / "src"
    _write(source, {"__init__": "", "ranker": "K = 1\n"})
    monkeypatch.syspath_prepend(source)
    plugin = tmp_path / "bench" / "mine.py"
    plugin.parent.mkdir()
    plugin.write_text("def make():\n    from sp.ranker import K\n", encoding="utf-8")
    make = registry.resolve("retriever", f"{plugin}:make")
    before = code_hash(make)
    _write(source, {"ranker": "K = 2\n"})
    assert code_hash(make) != before


def test_installed_packages_beside_a_plug_in_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site-packages"
    other = folder / "beside_sp" / "__init__.py"
    _write(folder, {"__init__": "import beside_sp\nclass Mine: pass\n"})
    other.parent.mkdir()
    other.write_text("X = 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    cls = importlib.import_module("sp").Mine
    before = code_hash(cls)
    other.write_text("X = 2\n", encoding="utf-8")
    assert code_hash(cls) == before


@pytest.mark.parametrize("source", ["def f(:\n", "x = 1\x00\n"])
def test_a_file_that_is_not_python_any_more(tmp_path: Path, source: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def make(): pass\n", encoding="utf-8")
    make = registry.resolve("retriever", f"{file}:make")
    file.write_text(source, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"mine\.py: not valid Python"):
        code_hash(make)


def test_another_process_with_another_seed_has_the_same_hash(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import helper\nclass Mine:\n    pass\n", encoding="utf-8")
    (tmp_path / "helper.py").write_text("X = {1, 2}\n", encoding="utf-8")
    program = (
        "from target_bench.core import registry\n"
        "from target_bench.core.identity import code_hash\n"
        f"print(code_hash(registry.resolve('retriever', {f'{file}:Mine'!r})))"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "7"},
    )
    assert elsewhere.stdout.strip() == code_hash(registry.resolve("retriever", f"{file}:Mine"))


MADE = {
    "type": 'Mine = type("Mine", (Retriever,), {"embed_corpus": emb, "retrieve": ret})',
    "make_dataclass": "Mine = dataclasses.make_dataclass('Mine', [], bases=(Retriever,), "
    "namespace={'embed_corpus': emb, 'retrieve': ret})",
    "new_class": "Mine = types.new_class('Mine', (Retriever,), {}, "
    "lambda names: names.update(embed_corpus=emb, retrieve=ret))",
    "module": "class Mine(Retriever):\n    embed_corpus, retrieve = emb, ret\n"
    "Mine.__module__ = 'json'",
    "package": "class Mine(Retriever):\n    embed_corpus, retrieve = emb, ret\n"
    "Mine.__module__ = 'numpy'",
    "ours": "class Mine(Retriever):\n    VERSION = '1'\n    embed_corpus, retrieve = emb, ret\n"
    "Mine.__module__ = 'target_bench.retrievers.bm25'",
    "base": 'Base = type("Base", (Retriever,), {"embed_corpus": emb, "retrieve": ret})\n'
    "class Mine(Base):\n    pass",
}
HEAD = """
import dataclasses, types
from target_bench import Retriever
def emb(self, corpus): self.ids = [table.id for table in corpus]
def ret(self, query, top_k): return self.ids[:top_k]
"""


@pytest.mark.parametrize("how", MADE)
def test_a_class_without_a_source_of_its_own_is_never_reused(tmp_path: Path, how: str) -> None:
    """Its code is in no file that its module names: two of them are never the same."""
    file = tmp_path / "made.py"
    file.write_text(HEAD + MADE[how], encoding="utf-8")
    cls = registry.resolve("retriever", f"{file}:Mine")
    (first, warning), (second, _) = plugin_identity(cls()), plugin_identity(cls())
    assert first != second, "each is unique"
    assert "cannot be identified (no source" in (warning or "")


def test_a_changed_class_that_type_made_has_scores_of_its_own(tmp_path: Path) -> None:
    """And it is said that nothing of it is reused."""
    file, values = tmp_path / "made.py", []
    for body in (HEAD, HEAD.replace("self.ids[:top_k]", "self.ids[::-1][:top_k]")):
        file.write_text(body + MADE["type"], encoding="utf-8")
        with pytest.warns(UserWarning, match="will never be reused"):
            (run,) = evaluate(f"{file}:Mine", "mini", task="retrieval", limit=50, out=tmp_path)
        assert not run.run.reused
        values.append(run["recall@10"].value)
    assert values[0] != values[1]
