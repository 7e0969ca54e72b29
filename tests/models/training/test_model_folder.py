"""A model is there whole or not at all; bad input is told before anything is trained."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from target_bench.core.errors import ConfigError, DataError, StoreError
from target_bench.models.training import (
    exposure,
    fine_tuning,
    model_folder,
    training_loop,
    training_record,
)
from target_bench.models.training.fine_tuning import Settings
from target_bench.models.training.training_splits import Data
from tests.builders import Recorder
from tests.cli.inside import Inside
from tests.models.training.shops import shops


def test_written_aside_and_renamed(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "model"
    with model_folder.whole(place) as half:
        (half / "a").write_text("1")
        assert not place.exists()
    assert [path.name for path in place.parent.iterdir()] == ["model"]
    assert (place / "a").read_text() == "1"


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, ValueError])
def test_nothing_is_left_of_a_half(tmp_path: Path, interruption: type[BaseException]) -> None:
    (tmp_path / "model").mkdir()

    def write() -> None:
        with model_folder.whole(tmp_path / "model") as half:
            (half / "a").write_text("1")
            raise interruption

    with pytest.raises(interruption):
        write()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert not any((tmp_path / "model").iterdir())


def test_interrupted_training_leaves_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(training_loop, "_step", interrupted)
    corpus = shops(tmp_path / "shops")
    with pytest.raises(KeyboardInterrupt):
        fine_tuning.train(
            Data([corpus], keep_out=["test"]), tmp_path / "model", observer=Recorder()
        )
    assert [path.name for path in tmp_path.iterdir()] == ["shops"]


def _full(folder: Path) -> Path:
    (folder / "model").mkdir()
    (folder / "model" / "a").write_text("mine")
    return folder / "model"


def _a_file(folder: Path) -> Path:
    (folder / "model").write_text("mine")
    return folder / "model"


@pytest.mark.parametrize("taken", [_full, _a_file])
def test_what_is_there_is_kept(tmp_path: Path, taken: Callable[[Path], Path]) -> None:
    place = taken(tmp_path)
    with pytest.raises(ConfigError, match="holds something already"):
        fine_tuning.train(Data(["mini"]), place)
    assert place.exists()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(StoreError, match="cannot be"),
        model_folder.whole(tmp_path / "file" / "model"),
    ):
        pass


def test_bad_calls(inside: Inside, tmp_path: Path) -> None:
    shops(tmp_path / "shops")
    train = ("train", "dense", "-o", "model", "--corpus")
    told = {
        ("mini",): "no split 'train'",
        ("nobody",): "nobody",
        ("./shops", "--base", "sentence-transformers:model=./absent"): "model=./absent",
        ("./shops", "--base", "lsa"): "cannot be trained",
        ("./shops", "--max-tokens", "2"): "max_tokens=2",
        ("./shops", "--negatives", "bm52"): "bm52",
        ("./shops", "--n-negatives", "-1"): "n_negatives=-1",
        ("./shops", "--fields", "titel"): "titel",
        ("./shops", "--rows", "few"): "--rows few",
        ("./shops", "--lr", "0"): "lr=0",
        ("./shops", "--split", "test"): "will be scored",
        ("mini", "--split", "validation", "--limit", "2"): "no question is left",
    }
    for options, message in told.items():
        keep_out = ("--keep-out", "test") if options[0] == "./shops" else ()
        said = inside.bad(2, *train, *options, *keep_out)
        assert message in " ".join(said.split()), said
    assert not (tmp_path / "model").exists()
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_command(inside: Inside, tmp_path: Path) -> None:
    shops(tmp_path / "shops")
    options = ("--keep-out", "test", "--limit", "8", "--max-tokens", "16", "--rows", "3")
    train = ("train", "dense", "--corpus", "./shops", "--fields", "id,header,rows", *options)
    said = inside.telling("negatives", *train, "-o", "models/mine")
    assert "8 pairs; mean loss of each epoch: " in said
    assert (
        "--retriever \"dense:encoder='sentence-transformers:model=models/mine',"
        'fields=[id,header,rows],rows=3"' in said
    )
    stated = json.loads((tmp_path / "models" / "mine" / "target_bench.json").read_text())
    assert stated["settings"]["fields"] == ["id", "header", "rows"]
    spec = said.strip().splitlines()[-1].split('"')[1]
    done = inside("run", "./shops", "--split", "train", "--retriever", spec, "--json")
    assert done.code == 0
    assert "was trained on 8 of the 24 questions and 4 of the 12" in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("file", "damage"),
    [("target_bench.json", "{"), ("target_bench.json", "[]"), ("target_bench_pairs.jsonl", "{}\n")],
)
def test_a_broken_record(tmp_path: Path, file: str, damage: str) -> None:
    from target_bench import corpora

    training_record.write(tmp_path, {}, [])
    assert training_record.read_pairs(tmp_path) == []
    (tmp_path / file).write_text(damage)
    with pytest.raises(DataError, match=file.replace(".", r"\.")):
        training_record.read_pairs(tmp_path)

    class Model:
        def weights_folder(self) -> Path:
            return tmp_path

    (note,) = exposure.notes(Model(), corpora.load("mini"))
    assert "Whether it was trained on mini test is not known" in note


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match="n_negatives"):
        Settings(n_negatives=-1)
