"""Distractors: which tables are drawn, where they stand, and what stays as it was."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from target_bench import corpora
from target_bench.core.errors import ConfigError
from target_bench.core.schema import Corpus, Dataset, Table, TableId
from target_bench.data.distractors import draw_tables, parse_spec
from target_bench.data.tables import MemoryCorpus
from tests.builders import json_lines, ottqa_question, ottqa_table, write_ottqa, write_release
from tests.data.strategies import exact, tables
from tests.data.written import asked, table, write_own


def _mix(
    base: Sequence[Table], source: Sequence[Table], spec: str = "x", same: bool = False
) -> Corpus:
    return draw_tables(MemoryCorpus(base), MemoryCorpus(source), same, parse_spec(spec))[0]


def _others(mixture: Corpus, base: Sequence[Table]) -> list[TableId]:
    own = {t.id for t in base}
    return [table_id for table_id in mixture.ids if table_id not in own]


@settings(deadline=None, max_examples=50)
@given(base=tables(), source=tables(), seed=st.integers(0, 3))
def test_nothing_is_lost_or_repeated(base: list[Table], source: list[Table], seed: int) -> None:
    """The base keeps its order and content; what is new is the source's, if need be renamed."""
    ours = {t.id: exact(t) for t in base}
    new = [t for t in source if ours.get(t.id) != exact(t)]
    assume(new)
    mixture = _mix(base, source, f"x:seed={seed}")
    assert [exact(t) for t in mixture if t.id in ours] == list(ours.values())
    mixed_in = [mixture[table_id] for table_id in _others(mixture, base)]
    assert len(mixture.ids) == len(set(mixture.ids)) == len(mixture) == len(base) + len(mixed_in)
    drawn, least, most = (
        Counter(exact(t)[len(repr(tuple(t.id))) :] for t in some)
        for some in (mixed_in, new, source)
    )
    assert least <= drawn <= most
    for name in {t.id.database_id for t in source} - {"0"}:
        kept = {t.id in mixture for t in new if t.id.database_id == name and t.id not in ours}
        assert len(kept) <= 1, "a database is renamed as a whole"
    assert [t.id for t in mixture] == list(mixture.ids)


@settings(deadline=None, max_examples=50)
@given(base=tables(), source=tables(), data=st.data())
def test_nested_and_deterministic(
    base: list[Table], source: list[Table], data: st.DataObject
) -> None:
    """Fewer are a part of more, in the same order, for any order of the source."""
    n = data.draw(st.integers(1, len(source)))
    shuffled = data.draw(st.permutations(source))
    seed = data.draw(st.integers(-5, 5))
    ours = {t.id: exact(t) for t in base}
    assume(n <= sum(ours.get(t.id) != exact(t) for t in source))
    many = _mix(base, source, f"x:seed={seed}")
    few = _mix(base, source, f"x:seed={seed},n={n}")
    again = _mix(base, shuffled, f"x:n={n},seed={seed}")
    assert list(few.ids) == [i for i in many.ids if i in few]
    assert len(_others(few, base)) == n
    assert few.ids == again.ids
    assert few.fingerprint == again.fingerprint
    assert few.fingerprint == MemoryCorpus(list(few)).fingerprint
    assert few.groups == MemoryCorpus(list(few)).groups


def _many(n: int, name: str = "t") -> list[Table]:
    return [table(f"{name}{i}") for i in range(n)]


def test_distractors_are_handed_out_between(tmp_path: Path) -> None:
    """Evenly: a retriever that ranks by the order of the tables gains nothing."""
    base, source = _many(200), _many(2000, "s")
    mixture = _mix(base, source).copy_for_retriever()
    places = [mixture.positions[t.id] for t in base]
    halves = sum(place < len(mixture) / 2 for place in places)
    assert 90 <= halves <= 110
    first = [sum(i in {t.id for t in base} for i in mixture.ids[k : k + 220]) for k in (0, 1980)]
    assert all(10 <= n <= 30 for n in first)


@pytest.fixture
def ottqa(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """OTT-QA with two validation tables and five train tables, one of which has the same id."""
    monkeypatch.delenv(corpora.ENVIRONMENT, raising=False)
    folder = tmp_path / "data" / "ottqa"
    write_ottqa(folder, [ottqa_table("a"), ottqa_table("b")], [ottqa_question("q", "a")])
    train = [ottqa_table(name) for name in ("a", "c", "d", "e", "f")]
    write_release(folder, "train_tables.jsonl", json_lines(train))
    return tmp_path / "data"


def _load(folder: Path, *specs: str) -> Dataset:
    return corpora.load("ottqa", data_dir=folder, distractors=specs)


def test_another_split(ottqa: Path) -> None:
    """Ids stay as they are; what is in the corpus already is left out and said."""
    plain, dataset = _load(ottqa), _load(ottqa, "ottqa:split=train")
    assert {i.table_id for i in dataset.corpus.ids} == set("abcdef")
    assert {i.database_id for i in dataset.corpus.ids} == {"0"}
    assert dataset.queries == plain.queries
    (added,) = dataset.distractors
    assert added.spec == "ottqa:split=train"
    assert {i.table_id for i in added.ids} == set("cdef")
    assert list(added.ids) == [i for i in dataset.corpus.ids if i.table_id in "cdef"]
    note = "1 tables are in the corpus already and were left out"
    assert added.notes == (note,)
    assert dataset.notes[-1] == f"distractors ottqa:split=train: {note}"
    assert set(dataset.files) == {
        "dev_tables.jsonl",
        "dev.json",
        "ottqa train: train_tables.jsonl",
    }


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ("n=5", r"5 tables were asked for, but there are 4 \(1 more are in the"),
        ("n=0", "n=0: expected a whole number from 1"),
        ("n=true", "n=True: expected a whole number from 1"),
        ("seed=x", "seed='x': expected a whole number"),
        ("colour=red", "corpus ottqa: unknown setting 'colour'"),
        ("near_copies=all", "near_copies='all': expected out or kept"),
        ("n=1,n=2", "n is set twice"),
    ],
)
def test_invalid_settings(ottqa: Path, settings: str, fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        _load(ottqa, f"ottqa:split=train,{settings}")


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ("mini:split=dev:n=2", "write all settings with commas between them: 'mini:split=dev,n=2'"),
        ("ottqa:split=nothing", "ottqa has no split 'nothing'"),
        ("ottqaa:split=train", r"^unknown corpus 'ottqaa'. Did you mean ottqa(?!.*Distractors)"),
        ("", "unknown corpus"),
    ],
)
def test_what_is_no_corpus(ottqa: Path, spec: str, fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        _load(ottqa, spec)


def test_ids_tell_no_dataset(ottqa: Path) -> None:
    """Nothing in an id says that a table is a distractor."""
    dataset = _load(ottqa, "mini:n=7,seed=3", "ottqa:split=train,n=2", "mini:n=4,seed=3,split=dev")
    first, _, third = dataset.distractors
    assert [len(d.ids) for d in dataset.distractors] == [7, 2, 4]
    assert not any("mini" in str(i) or "~" in str(i) for i in dataset.corpus.ids)
    assert not set(first.ids) & set(third.ids)
    assert len(dataset.corpus) == 2 + 7 + 2 + 4
    ids = [i for i in dataset.corpus.ids if i.table_id in "ab"]
    assert ids == [("0", "a"), ("0", "b")]
    assert len(set(dataset.corpus.ids)) == len(dataset.corpus)


COPIES = {
    "older.csv": "film,year\nAlien,1979\nHeat,1995\n",
    "z.csv": "city,river\nParis,Seine\nRome,Tiber\n",
}


@pytest.fixture
def films(tmp_path: Path) -> Path:
    """A corpus, and beside it ``more`` with an older state of its gold table."""
    write_own(tmp_path / "more", COPIES, [asked("z")])
    own = {"films.csv": "film,year\nAlien,1979\nHeat,1995\nRan,1985\n", "b.csv": "x\n1\n"}
    return write_own(tmp_path / "mine", own, [asked("films")])


@pytest.mark.parametrize(
    ("setting", "ids", "note"),
    [
        ("out", "z", "1 tables of 2 drawn are near-copies of gold tables and were left out"),
        ("kept", "oz", "1 tables are near-copies of gold tables and were kept"),
    ],
)
def test_near_copies(films: Path, setting: str, ids: str, note: str) -> None:
    """They are counted and listed."""
    dataset = corpora.load(films, distractors=[f"{films.parent}/more:near_copies={setting}"])
    (added,) = dataset.distractors
    assert sorted(i.table_id[0] for i in added.ids) == sorted(ids)
    assert added.notes == (note,)
    (near,) = added.near_copies
    assert (near.id.table_id, near.gold.table_id, near.similarity) == ("older", "films", 0.75)
