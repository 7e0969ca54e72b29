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
    found, warning = plugin_identity(plugin)
    assert warning is None, warning
    return found


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
        (BM25(k1=0.9, fields=("title",)), 'BM25:fields=["title"],k1=0.9'),
        (Hybrid([BM25(k1=0.9), "tfidf"]), 'Hybrid:retrievers=["BM25:k1=0.9", "tfidf"]'),
    ],
)
def test_an_object_is_called_by_its_class_and_what_is_not_the_default(
    plugin: object, label: str
) -> None:
    assert object_label(plugin, _identity(plugin)) == label


def test_a_label_tells_nothing_of_credentials() -> None:
    class Hosted:
        def __init__(self, url: str = "a", api_key: str | None = None) -> None:
            self.url, self.api_key = url, api_key

    for plugin in (Hosted("b"), Hosted("b", "s3cret")):
        assert object_label(plugin, {"config": {"url": "b", "api_key": "***"}}) == "Hosted:url=b"


class TestFilesThatSettingsName:
    """An edited configuration, prompt, YAML file or model is another plug-in."""

    @pytest.mark.parametrize("name", ["cfg.json", "prompt", "deep/model.yaml"])
    def test_an_edited_file(self, tmp_path: Path, name: str) -> None:
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("rows: 50", encoding="utf-8")
        before = _identity(Reading(str(file)))
        file.write_text("rows: 0", encoding="utf-8")
        after = _identity(Reading(str(file)))
        assert before["files"].keys() == after["files"].keys() == {"config"}
        assert before["files"] != after["files"]
        file.write_text("rows: 50", encoding="utf-8")
        assert _identity(Reading(str(file))) == before

    def test_relative_names_and_names_inside_of_settings(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "a.txt").write_text("1", encoding="utf-8")
        found = _identity(Reading({"prompts": ["a.txt", "none.txt"], "n": 3}))
        assert found["files"].keys() == {"config.prompts.0"}

    def test_a_path_object_is_a_setting(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("1", encoding="utf-8")
        assert "config" in _identity(Reading(tmp_path / "a.txt"))["files"]

    def test_a_folder_counts_with_names_and_contents(self, tmp_path: Path) -> None:
        folder = tmp_path / "model"
        (folder / "deep").mkdir(parents=True)
        (folder / "deep" / "weights").write_bytes(b"1")
        hashes = [_identity(Reading(str(folder)))["files"]["config"]]
        (folder / ".cache").write_bytes(b"hidden files do not count")
        assert _identity(Reading(str(folder)))["files"]["config"] == hashes[0]
        (folder / "deep" / "weights").write_bytes(b"2")
        hashes.append(_identity(Reading(str(folder)))["files"]["config"])
        (folder / "deep" / "weights").rename(folder / "weights")
        hashes.append(_identity(Reading(str(folder)))["files"]["config"])
        assert len(set(hashes)) == 3

    def test_a_folder_of_too_many_files_is_never_reused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("target_bench.core.identity._MOST_FILES", 2)
        for name in "abc":
            (tmp_path / name).touch()
        found, warning = plugin_identity(Reading(str(tmp_path)))
        assert "unique" in found
        assert warning is not None
        assert "holds over 2 files; if they change no result" in warning

    @pytest.mark.parametrize("text", ["/", ".", "..", "~", "no/such/file", "a\x00b", "x" * 5000])
    def test_what_names_nothing(self, text: str) -> None:
        assert "files" not in _identity(Reading(text))

    def test_a_word_of_a_built_in_is_a_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = _identity(BM25(stemmer="english"))
        monkeypatch.chdir(tmp_path)
        (tmp_path / "english").mkdir()
        assert _identity(BM25(stemmer="english")) == before

    def test_a_model_that_says_its_revision_is_not_read_twice(self, tmp_path: Path) -> None:
        class Own(Encoder):
            def __init__(self, model: str) -> None:
                self.model = model

            def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
                raise NotImplementedError

            def revision(self) -> str | None:
                return "r1"

        found = _identity(Own(str(tmp_path)))
        assert found["revision"] == "r1"
        assert "files" not in found


class TestVersionsOfPackages:
    """They are recorded, and are no part of an identity."""

    def test_no_built_in_depends_on_them(self, monkeypatch: pytest.MonkeyPatch) -> None:
        plugins = dict(_built_in())
        before = {name: _identity(plugin) for name, plugin in plugins.items()}
        assert len(before) > 10

        installed_version.cache_clear()
        metadata = "Name: any\nVersion: 9.9.9\n\nVersion: 1\n"
        monkeypatch.setattr(importlib.metadata.PathDistribution, "read_text", lambda *_: metadata)
        assert {name: _identity(plugin) for name, plugin in plugins.items()} == before
        assert used_packages(BM25())["numpy"] == "9.9.9"
        monkeypatch.undo()
        installed_version.cache_clear()

    def test_only_the_packages_of_the_chosen_backend_are_used(self) -> None:
        assert "rank-bm25" not in BM25().packages
        assert "rank-bm25" in BM25(backend="rank-bm25").packages

    def test_what_is_recorded(self) -> None:
        found = used_packages(Reading())
        assert found == {"target-bench": __version__, "numpy": installed_version("numpy")}

    def test_those_of_parts_are_among_them(self) -> None:
        hybrid = registry.create("retriever", "hybrid:retrievers=[bm25, random]")
        assert {"numpy", "bm25s"} <= used_packages(hybrid).keys()


def _built_in() -> list[tuple[str, Any]]:
    """The built-in plug-ins that can be made, and identified, without settings or a network."""
    made = []
    for kind in PLUGIN_KINDS:
        for name in BUILT_IN[kind]:
            with suppress(ConfigError, MissingExtraError):
                plugin = registry.create(kind, name)
                plugin_identity(plugin)
                made.append((f"{kind} {name}", plugin))
    return made


class TestBuiltIn:
    def test_a_built_in_is_identified_by_its_version(self) -> None:
        found = _identity(BM25())
        assert found.keys() == {"class", "version", "config"}
        assert (found["class"], found["version"]) == ("BM25", BM25.VERSION)

    def test_a_raised_version_is_another_plug_in(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = _identity(BM25())
        monkeypatch.setattr(BM25, "VERSION", "next")
        assert _identity(BM25()) != before

    def test_every_built_in_declares_one(self) -> None:
        assert all(type(plugin).VERSION for _, plugin in _built_in())

    def test_of_a_subclass_the_source_counts_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Mine(BM25):
            pass

        before = _identity(Mine())
        assert before.keys() == {"class", "version", "code", "config"}
        monkeypatch.setattr(BM25, "VERSION", "next")
        after = _identity(Mine())
        assert before["version"] != after["version"]
        assert before["code"] != after["code"]


PACKAGE_FILES = {
    "__init__": "",
    "retrievers/__init__": "",
    "retrievers/x": "from sp.weights import K\nfrom .. import util\nclass Mine: pass\n",
    "util": "from .deep.rules import RULE\n",
    "weights": "K = 1\n",
    "deep/rules": "RULE = 1\n",
    "unused": "X = 1\n",
}


@pytest.fixture
def forgotten() -> Iterator[None]:
    """No module of these tests stays imported."""
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] in ("sp", "beside_sp")]:
        del sys.modules[name]


@pytest.mark.usefixtures("forgotten")
class TestCodeOfUsers:
    @pytest.mark.parametrize("place", ["site-packages", "src"])
    def test_modules_of_the_package_around_a_plug_in(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
    ) -> None:
        """Each kind of import, and constants; all of a package that is installed."""
        folder = tmp_path / place
        self._write(folder, PACKAGE_FILES)
        monkeypatch.syspath_prepend(folder)
        cls = importlib.import_module("sp.retrievers.x").Mine
        before, changes = code_hash(cls), {}
        for name, text in PACKAGE_FILES.items():
            file = folder / "sp" / f"{name}.py"
            file.write_text(f"{text}Y = 2\n", encoding="utf-8")
            changes[name] = code_hash(cls) != before
            file.write_text(text, encoding="utf-8")
        unseen = [name for name, changed in changes.items() if not changed]
        assert unseen == ([] if place == "site-packages" else ["unused"])

    @staticmethod
    def _write(folder: Path, files: dict[str, str]) -> None:
        for name, text in files.items():
            file = folder / "sp" / f"{name}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")

    def test_a_package_installed_for_editing_counts(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It lies elsewhere, on the path of Python: the code of a project that is worked on."""
        self._write(tmp_path / "project" / "src", {"__init__": "", "ranker": "K = 1\n"})
        monkeypatch.syspath_prepend(tmp_path / "project" / "src")
        plugin = tmp_path / "bench" / "mine.py"
        plugin.parent.mkdir()
        plugin.write_text("def make():\n    from sp.ranker import K\n", encoding="utf-8")
        make = registry.resolve("retriever", f"{plugin}:make")
        before = code_hash(make)
        self._write(tmp_path / "project" / "src", {"ranker": "K = 2\n"})
        assert code_hash(make) != before

    def test_installed_packages_beside_a_plug_in_do_not_count(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Neither those beside an installed plug-in, nor those in an environment below."""
        folder = tmp_path / "site-packages"
        other = folder / "beside_sp" / "__init__.py"
        self._write(folder, {"__init__": "import beside_sp\nclass Mine: pass\n"})
        other.parent.mkdir()
        other.write_text("X = 1\n", encoding="utf-8")
        monkeypatch.syspath_prepend(folder)
        cls = importlib.import_module("sp").Mine
        before = code_hash(cls)
        other.write_text("X = 2\n", encoding="utf-8")
        assert code_hash(cls) == before

    @pytest.mark.parametrize("source", ["def f(:\n", "x = 1\x00\n", "  x\n"])
    def test_a_file_that_is_not_python_any_more(self, tmp_path: Path, source: str) -> None:
        file = tmp_path / "mine.py"
        file.write_text("def make(): pass\n", encoding="utf-8")
        make = registry.resolve("retriever", f"{file}:make")
        file.write_text(source, encoding="utf-8")
        with pytest.raises(ConfigError, match=r"mine\.py: not valid Python"):
            code_hash(make)


def test_a_folder_of_sources_that_changes_no_identity(tmp_path: Path) -> None:
    """The same plug-in has the same identity in another process, with another seed of hashes."""
    file = tmp_path / "mine.py"
    file.write_text("import helper\nclass Mine:\n    pass\n", encoding="utf-8")
    (tmp_path / "helper.py").write_text("X = {1, 2}\n", encoding="utf-8")
    program = (
        "from target_bench.core import registry\n"
        "from target_bench.core.identity import code_hash\n"
        f"print(code_hash(registry.resolve('retriever', {f'{file}:Mine'!r})))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
