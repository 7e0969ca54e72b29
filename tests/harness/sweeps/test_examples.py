"""The ablations that ship as examples."""

from pathlib import Path

import pytest

from target_bench.harness.sweeps import Sweep
from tests.builders import ROOT, Recorder, ottqa_question, ottqa_table, tarred, write_ottqa

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples" / "ablations"
CELLS = {"title": 4, "rows": 10, "format": 12, "k": 3, "distractors": 12, "needle": 6}
CELLS |= {"title-and-rows": 8, "schema": 4}
DENSE = {"title-dense": 2, "rows-dense": 5, "serializers-dense": 8}


def test_every_example_is_tested() -> None:
    assert {path.stem for path in EXAMPLES.iterdir()} == CELLS.keys() | DENSE.keys()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, with OTT-QA of 700 tables and 1,000 of Wikipedia at hand."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TARGET_BENCH_DATA", str(tmp_path / "data"))
    tables = [ottqa_table(f"t{n}") for n in range(700)]
    write_ottqa(tmp_path / "data" / "ottqa", tables, [ottqa_question("q", "t0")])
    members = {f"{n}-1.csv": f"Year,Country\n{n},Sweden\n".encode() for n in range(1000)}
    (tmp_path / "data" / "wikitables2019").mkdir()
    archive = tmp_path / "data" / "wikitables2019" / "tables_part_1.tar.gz"
    archive.write_bytes(tarred(members))
    return tmp_path


@pytest.mark.parametrize("name", CELLS)
def test_runs_on_mini(folder: Path, name: str) -> None:
    """On a part of its questions."""
    text = (EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")
    if name == "needle":  # which is of FeTaQA and of 100,000 tables
        text = text.replace("corpora: fetaqa", "corpora: mini")
        text = text.replace("1000, 10000, 100000]", "100, 1000]")
    assert text.count("corpora: mini") == 1
    file = folder / f"{name}.yaml"
    file.write_text(text.replace("corpora: mini", "corpora: {name: mini, limit: 30}"))
    outcomes = Sweep.load(file, observer=Recorder()).run(observer=Recorder())
    assert [outcome.error for outcome in outcomes] == [None] * CELLS[name]
    recalls = [outcome.scores["recall@10"].value for outcome in outcomes]
    assert min(recalls) > 0.1
    if name == "title":
        assert recalls[0] > recalls[1]
    if name == "rows":
        assert recalls[0] < recalls[4]
    if name.endswith("distractors"):
        assert recalls[::3] == sorted(recalls[::3], reverse=True)
    if name == "needle":
        assert recalls[::2] == sorted(recalls[::2], reverse=True)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", DENSE)
def test_dense_ones_can_be(name: str) -> None:
    """Their plug-ins are built, and every table would be written as they say."""
    pytest.importorskip("sentence_transformers")
    cells = Sweep.load(EXAMPLES / f"{name}.yaml", observer=Recorder()).cells
    assert len({planned.key for planned in cells}) == len(cells) == DENSE[name]
