"""The hashes of a run's tables, and what changed since."""

from pathlib import Path

import pytest

from target_bench import StoreError, TableId, evaluate, load
from target_bench.core.schema import Corpus, Table
from target_bench.data.distractors import MixedCorpus, parse
from target_bench.data.tables import MemoryCorpus, header_digest, header_digests
from target_bench.runs.corpus_tables import FILE, changes_since, write_tables
from target_bench.runs.integrity import check


def corpus(*names: str, **other: Table) -> Corpus:
    """Tables of these names in this order, with content of their own; some are other ones."""
    plain = {n: Table(TableId("0", n), ["name"], [[n], ["x"]], {"title": n}) for n in names}
    return MemoryCorpus((plain | other).values())


def named(name: str, header: str, cell: str, title: str) -> Table:
    return Table(TableId("0", name), [header], [[cell], ["x"]], {"title": title})


def test_every_kind_of_change(tmp_path: Path) -> None:
    write_tables(tmp_path, corpus("a", "b", "c", "d", "e"))
    now = corpus(
        "new",
        "b",
        c=named("c", "name", "cell", "c"),
        d=named("d", "column", "d", "title"),
        moved=named("moved", "name", "a", "a"),
    )
    changes = changes_since(tmp_path, now)
    assert (changes.then, changes.now) == (5, 5)
    assert changes.added == (("0", "new"),)
    assert changes.gone == (("0", "e"),)
    assert changes.renamed == {("0", "a"): ("0", "moved")}
    assert changes.changed == {("0", "c"): ("cells",), ("0", "d"): ("header", "context")}
    assert not changes.reordered
    assert changes_since(tmp_path, corpus("b", "a", "c", "d", "e")).reordered
    write_tables(tmp_path, now)  # of a run whose hashes are there
    assert changes_since(tmp_path, corpus("a", "b", "c", "d", "e")).changed == {}


def test_copies_are_renamed_once(tmp_path: Path) -> None:
    copy = Table(TableId("0", "a"), ["x"], [["1"]])
    others = [Table(TableId("0", name), ["x"], [["1"]]) for name in "bc"]
    write_tables(tmp_path, MemoryCorpus([copy]))
    changes = changes_since(tmp_path, MemoryCorpus(others))
    assert (changes.renamed, changes.added) == ({("0", "a"): ("0", "b")}, (("0", "c"),))


def test_distractors_are_left_out(tmp_path: Path) -> None:
    base = corpus("a", "b")
    mixed = MixedCorpus(base, corpus("c", "d"), False, parse("ottqa:n=1"))
    write_tables(tmp_path, mixed)
    assert len((tmp_path / FILE).read_text().splitlines()) == 2
    assert changes_since(tmp_path, base).then == 2


def test_a_run_has_them_and_they_are_small(tmp_path: Path) -> None:
    (run,) = evaluate("bm25", "mini", out=tmp_path, limit=3)
    tables = load("mini").corpus
    size = (run.folder / FILE).stat().st_size
    assert size < 75 * len(tables)
    assert list(header_digests(tables)) == list(map(header_digest, tables))
    assert (check(run.folder).problems, check(run.folder).notes) == ((), ())
    lines = (run.folder / FILE).read_text()
    (run.folder / FILE).write_text(lines[:-20])
    with pytest.raises(StoreError, match=r"corpus\.jsonl: damaged; remove it"):
        changes_since(run.folder, tables)
    (run.folder / FILE).unlink()
    with pytest.raises(StoreError, match="holds no hashes of its tables"):
        changes_since(run.folder, tables)
    evaluate("bm25", "mini", out=tmp_path, limit=3)
    assert (run.folder / FILE).read_text() == lines
