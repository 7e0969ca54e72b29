"""Saved indexes: whole or not there, and only for what they are of."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from target_bench.core import index_store
from target_bench.core.contract import Retriever
from target_bench.core.errors import (
    ConfigError,
    DataError,
    MissingExtraError,
    PluginError,
    StoreError,
    TargetBenchError,
)
from target_bench.core.index_store import load_index, save_index
from target_bench.core.schema import Corpus, TableId
from target_bench.data.tables import MemoryCorpus
from tests.retrievers.tables import TABLES, built, corpus


class Plain:
    """A user's retriever without any base class, with hooks."""

    def __init__(self, suffix: str = "") -> None:
        self.suffix = suffix
        self.fault: BaseException | None = None

    def embed_corpus(self, corpus: Corpus) -> None:
        self.names = [table_id.table_id for table_id in corpus.ids]

    def retrieve(self, query: str, top_k: int) -> list[TableId]:
        return [TableId("0", name) for name in self.names[:top_k]]

    def save(self, folder: Path) -> None:
        (folder / "deep").mkdir()
        (folder / "deep" / "names.json").write_text(json.dumps(self.names))
        if self.fault:
            raise self.fault

    def load(self, folder: Path, corpus: Corpus) -> None:
        if self.fault:
            raise self.fault
        self.names = json.loads((folder / "deep" / "names.json").read_text())


class Inherited(Retriever):
    """The hooks of the base class."""

    def embed_corpus(self, corpus: Corpus) -> None: ...
    def retrieve(self, query: str, top_k: int) -> list[TableId]:
        return []


class Unidentifiable(Plain):
    def __init__(self, *suffix: str) -> None:
        super().__init__()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "a" / "index"


@pytest.fixture
def saved(folder: Path) -> Path:
    """The index of a plain retriever."""
    retriever = Plain()
    retriever.embed_corpus(corpus())
    save_index(retriever, corpus(), folder)
    return folder


def _refused(action: Callable[..., None], *arguments: Any) -> str:
    with pytest.raises(TargetBenchError) as caught:
        action(*arguments)
    assert type(caught.value) is DataError
    return str(caught.value)


def _edit(folder: Path, **entries: Any) -> None:
    path = folder / "index.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **entries}))


@pytest.mark.parametrize("action", [load_index, save_index])
def test_another_corpus(saved: Path, action: Callable[..., None]) -> None:
    other, retriever = MemoryCorpus(TABLES[:3]), Plain()
    retriever.embed_corpus(other)
    message = _refused(action, retriever, other, saved)
    assert str(saved) in message
    assert f"fingerprint: '{corpus().fingerprint}' there, '{other.fingerprint}' here" in message
    assert "corpus.tables: 8 there, 3 here" in message


def test_other_code_is_refused(saved: Path) -> None:
    record = json.loads((saved / "index.json").read_text())
    _edit(saved, retriever={**record["retriever"], "code": "before"})
    assert "retriever.code: 'before'" in _refused(load_index, Plain(), corpus(), saved)


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda f: _edit(f, format=99),
            f"this version of target-bench reads {index_store.FORMAT}",
        ),
        (lambda f: (f / "index.json").write_text("[]"), "format None"),
        (lambda f: (f / "index.json").write_text("{"), "cannot be read"),
        (lambda f: (f / "index.json").write_text("[" * 100_000), "nested too deep"),
        (lambda f: (f / "index.json").unlink(), "there is no index here (no index.json)"),
        (shutil.rmtree, "there is no such folder"),
        (lambda f: _edit(f, files=None), "lists no files; delete the folder and index again"),
        (lambda f: _edit(f, corpus=None), "corpus: None there"),
        (lambda f: _truncate(f / "data/deep/names.json"), "not the content that was saved"),
        (lambda f: (f / "data/deep/names.json").unlink(), "names.json: missing"),
    ],
)
def test_damaged_indexes(saved: Path, damage: Callable[[Path], object], message: str) -> None:
    damage(saved)
    refusal = _refused(load_index, Plain(), corpus(), saved)
    assert message in refusal
    assert str(saved) in refusal


@pytest.mark.parametrize("name", ["index.json", "notes.txt"])
def test_a_folder_with_something_else_is_left_alone(folder: Path, name: str) -> None:
    folder.mkdir(parents=True)
    (folder / name).write_text("precious")
    message = _refused(save_index, built("bm25"), corpus(), folder)
    assert "is not empty, and holds no usable index. Save into another folder" in message
    assert (folder / name).read_text() == "precious"


@pytest.mark.parametrize("action", [save_index, load_index])
@pytest.mark.parametrize(
    ("fault", "expected", "message"),
    [
        (KeyError("x"), PluginError, "Plain raised KeyError in (save|load): 'x'"),
        (OSError("full"), StoreError, r"index: Plain cannot (save|load) its index \(full\)"),
        (SystemExit(3), PluginError, "Plain raised SystemExit"),
        (NotImplementedError(), ConfigError, "Plain cannot save or load its index"),
        (MissingExtraError("a", "b", "c"), MissingExtraError, "c needs the package 'a'"),
    ],
)
def test_hooks_that_raise(
    action: Callable[..., None],
    fault: BaseException,
    expected: type[Exception],
    message: str,
    saved: Path,
) -> None:
    """What was saved before is still there."""
    retriever = Plain()
    retriever.embed_corpus(corpus())
    retriever.fault = fault
    with pytest.raises(expected, match=message):
        action(retriever, corpus(), saved)
    assert [path.name for path in saved.parent.iterdir()] == ["index"]
    load_index(Plain(), corpus(), saved)


@pytest.mark.parametrize("action", [save_index, load_index])
@pytest.mark.parametrize(
    ("retriever", "message"),
    [
        (Unidentifiable(), "Unidentifiable cannot be identified"),
        (Inherited(), "Inherited cannot save or load its index"),
    ],
)
def test_retrievers_that_cannot_be_saved(
    action: Callable[..., None], retriever: object, message: str, saved: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        action(retriever, corpus(), saved)


def test_nothing_is_there_before_all_of_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the process had died just before the last step."""

    def die(whole: Path, folder: Path) -> None:
        assert (whole / "index.json").is_file()
        raise KeyboardInterrupt

    monkeypatch.setattr(index_store, "_replace_folder", die)
    with pytest.raises(KeyboardInterrupt):
        save_index(built("bm25"), corpus(), folder)
    assert not folder.exists()


def test_what_a_killed_process_left_goes(folder: Path) -> None:
    """Beside no index, and beside one that is replaced."""
    for _ in range(2):
        for name in ("new", "old"):
            (folder.with_name(f".{folder.name}.{name}") / "deep").mkdir(parents=True)
        save_index(built("bm25"), corpus(), folder)
        assert list(folder.parent.iterdir()) == [folder]


def test_the_old_index_stays_where_the_new_one_cannot_take_its_name(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = Path.replace, iter(range(9))

    def full_at_second(path: Path, target: Path) -> Path:
        if next(calls) == 1:
            raise OSError(28, "No space left on device")
        return real(path, target)

    retriever = Plain()
    retriever.embed_corpus(corpus())
    monkeypatch.setattr(Path, "replace", full_at_second)
    with pytest.raises(StoreError, match="No space left"):
        save_index(retriever, corpus(), saved)
    load_index(Plain(), corpus(), saved)
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]
