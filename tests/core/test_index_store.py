"""Saved indexes: whole or not there, and only for what they are of."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from target_bench.core import identity
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


def test_other_tables_and_settings_are_refused(saved: Path) -> None:
    for retriever, tables in ((Plain(), MemoryCorpus(TABLES[:3])), (Plain("es"), corpus())):
        message = _refused(load_index, retriever, tables, saved)
        assert str(saved) in message
        assert "for other tables, or another retriever, settings or code" in message


def test_other_code_is_refused(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "code_hash", lambda _: "edited")
    assert "settings or code" in _refused(load_index, Plain(), corpus(), saved)


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: _edit(f, format=99), "of another version of target-bench"),
        (lambda f: (f / "index.json").write_text("[]"), "cannot be read"),
        (lambda f: (f / "index.json").write_text("3"), "cannot be read"),
        (lambda f: (f / "index.json").write_text("{"), "cannot be read"),
        (lambda f: (f / "index.json").write_text("[" * 100_000), "nested too deep"),
        (lambda f: (f / "index.json").unlink(), "there is no index here (no index.json)"),
        (shutil.rmtree, "there is no index here"),
        (lambda f: _edit(f, files=None), "cannot be read"),
        (lambda f: _edit(f, made_of=None), "for other tables"),
        (lambda f: _truncate(f / "data/deep/names.json"), "names.json: missing or damaged"),
        (lambda f: (f / "data/deep/names.json").unlink(), "names.json: missing or damaged"),
    ],
)
def test_damaged_indexes(saved: Path, damage: Callable[[Path], object], message: str) -> None:
    damage(saved)
    refusal = _refused(load_index, Plain(), corpus(), saved)
    assert message in refusal
    assert str(saved) in refusal


def test_a_folder_that_is_there_is_left_alone(saved: Path) -> None:
    message = _refused(save_index, built("bm25"), corpus(), saved)
    assert f"{saved} exists: delete it, or save into another folder" in message
    load_index(Plain(), corpus(), saved)


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
    """Nothing is left of what could not be saved."""
    retriever = Plain()
    retriever.embed_corpus(corpus())
    retriever.fault = fault
    folder = saved if action is load_index else saved.with_name("other-index")
    with pytest.raises(expected, match=message):
        action(retriever, corpus(), folder)
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
    """As if the process had died, or the disk were full, just before the last step."""
    for fault, expected in (
        (KeyboardInterrupt(), KeyboardInterrupt),
        (OSError(28, "No space left on device"), StoreError),
    ):

        def fail(whole: Path, target: Path, fault: BaseException = fault) -> None:
            assert (whole / "index.json").is_file()
            raise fault

        monkeypatch.setattr(Path, "rename", fail)
        with pytest.raises(expected):
            save_index(built("bm25"), corpus(), folder)
        assert list(folder.parent.iterdir()) == []


def test_what_a_killed_process_left_goes(folder: Path) -> None:
    (folder.with_name(f".{folder.name}.new") / "deep").mkdir(parents=True)
    save_index(built("bm25"), corpus(), folder)
    assert list(folder.parent.iterdir()) == [folder]
