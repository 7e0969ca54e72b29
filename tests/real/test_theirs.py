"""Systems of others for a leaderboard: what is scored is the file that they published."""

import pytest

from benchmarks.leaderboard import theirs
from target_bench.core.errors import DataError
from tests.real.data import DATA, needs_data

SYSTEMS = theirs.systems()


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_source_is_named_with_its_commit(name: str) -> None:
    source = SYSTEMS[name]["predictions"]
    assert any(len(part) == 40 for part in source.split("/")), "no commit"


@needs_data
def test_another_file_than_the_published_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGET_BENCH_DATA", str(DATA))
    system = SYSTEMS["atr-uae"]
    changed = system | {"runs": [system["runs"][0] | {"sha256": "0" * 64}]}
    with pytest.raises(DataError, match="its hash is not 0000"):
        theirs.scores_of("atr-uae", changed)
