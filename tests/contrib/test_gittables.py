"""GitTables: distractors from TARGET's copy."""

from pathlib import Path

import pytest

from target_bench import corpora
from target_bench.core.errors import ConfigError, DataError
from target_bench.data.load import pair_with_corpora
from tests.data.target_copies import write_copy


def test_it_is_mixed_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_copy(tmp_path / "gittables" / "gittables-corpus", "gittables-corpus")
    monkeypatch.setenv("TARGET_BENCH_DATA", str(tmp_path))
    mixed = corpora.load("mini", distractors=["gittables:n=1"])
    assert len(mixed.corpus) == len(corpora.load("mini").corpus) + 1
    with pytest.raises(ConfigError, match=r"gittables does not serve the task.*distractors"):
        pair_with_corpora("Table Retrieval", "gittables")
    monkeypatch.setenv("TARGET_BENCH_DATA", str(folder))
    with pytest.raises(DataError, match="It would be fetched by itself, but --offline or HF_HUB"):
        corpora.load("mini", distractors=["gittables:n=1"])
