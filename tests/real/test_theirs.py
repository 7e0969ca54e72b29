"""Systems of others on the leaderboard: their entries are what their published files score."""

import pytest

from benchmarks.leaderboard import theirs
from target_bench.core.errors import DataError
from target_bench.reporting.leaderboard import entry
from tests.real.data import DATA, needs_data

SYSTEMS = theirs.systems()
# The others' files are not part of the data: ``python -m benchmarks.leaderboard.theirs --check``
# scores them where somebody has fetched them.
IN_THE_DATA = {
    name: system
    for name, system in SYSTEMS.items()
    if all((DATA / run["file"]).is_file() for run in system["runs"])
}
ONE_OF_EACH_SOURCE = {system["predictions"]: name for name, system in IN_THE_DATA.items()}.values()


def test_an_entry_for_each_system() -> None:
    kept = {path.name.removesuffix(entry.SUFFIX) for path in theirs.FOLDER.iterdir()}
    assert kept == set(SYSTEMS)


@pytest.mark.parametrize("name", SYSTEMS)
def test_entry_names_its_source(name: str) -> None:
    kept = entry.read(theirs.FOLDER / f"{name}{entry.SUFFIX}")
    assert kept.verdict == "accepted"
    source = SYSTEMS[name]["predictions"]
    assert kept.card.predictions == source
    assert any(len(part) == 40 for part in source.split("/")), "no commit"


@needs_data
@pytest.mark.parametrize("name", ONE_OF_EACH_SOURCE)
def test_scores_are_those_of_the_published_file(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGET_BENCH_DATA", str(DATA))
    assert list(theirs.differing(name, SYSTEMS[name])) == []


@needs_data
def test_another_file_than_the_published_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGET_BENCH_DATA", str(DATA))
    system = SYSTEMS["atr-uae"]
    changed = system | {"runs": [system["runs"][0] | {"sha256": "0" * 64}]}
    with pytest.raises(DataError, match="its hash is not 0000"):
        theirs.scored("atr-uae", changed)
