"""The names of the original TARGET package: one corpus for each split of Spider and BIRD."""

from pathlib import Path

import pytest

from target_bench import TARGET, corpora
from target_bench.core import registry
from target_bench.core.errors import ConfigError, DataError
from target_bench.data.load import loader
from tests.data.releases import write_bird, write_spider
from tests.data.target_copies import write_copy


def test_names() -> None:
    """A corpus for each split of Spider and BIRD; they are not listed."""
    expected = {
        "spider-test": ("spider", "test"),
        "spider-train": ("spider", "train"),
        "Spider_Validation": ("spider", "validation"),
        "bird-validation": ("bird", "validation"),
        "infiagentda": ("infiagentda", "test"),
        "gittables": ("gittables", "train"),
    }
    infos = {name: loader(name).info for name in expected}
    assert {name: (info.name, *info.splits) for name, info in infos.items()} == expected
    assert not expected.keys() & set(registry.names("corpus"))


def test_they_are_the_same_data(tmp_path: Path) -> None:
    write_spider(tmp_path / "spider")
    write_bird(tmp_path / "bird")
    for name, corpus in (("spider-validation", "spider"), ("bird-validation", "bird")):
        theirs, ours = (
            corpora.load(name, data_dir=tmp_path),
            corpora.load(corpus, data_dir=tmp_path),
        )
        assert theirs.corpus.fingerprint == ours.corpus.fingerprint
        assert (theirs.split, theirs.queries) == (ours.split, ours.queries)
    with pytest.raises(ConfigError, match=r"no split 'train'\. It has validation"):
        corpora.load("spider-validation", "train", data_dir=tmp_path)


def test_gittables_is_mixed_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_copy(tmp_path / "gittables" / "gittables-corpus", "gittables-corpus")
    monkeypatch.setenv("TARGET_BENCH_DATA", str(tmp_path))
    mixed = corpora.load("mini", distractors=["gittables:n=1"])
    assert len(mixed.corpus) == len(corpora.load("mini").corpus) + 1
    with pytest.raises(ConfigError, match=r"gittables does not serve the task.*distractors"):
        TARGET(("Table Retrieval", "gittables"))
    monkeypatch.setenv("TARGET_BENCH_DATA", str(folder))
    with pytest.raises(DataError, match="It would be fetched by itself, but --offline or HF_HUB"):
        corpora.load("mini", distractors=["gittables:n=1"])
