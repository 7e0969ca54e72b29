"""What notebooks show of tables and datasets."""

from html.parser import HTMLParser

from target_bench import Dataset, Query, Table, TableId, load
from target_bench.data.tables import MemoryCorpus

BAD = '<script>alert("1")</script>&'


class _Cells(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.cells: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


def _table(name: str = "a", rows: int = 2) -> Table:
    return Table(
        TableId("0", name), ["x", BAD], [[BAD, 1], [None, b"abc"]] * (rows // 2), {"title": BAD}
    )


def test_a_table_is_shown_escaped_with_its_first_rows() -> None:
    few, many = _table()._repr_html_(), _table(rows=5_000)._repr_html_()
    for shown in (few, many):
        assert "<script" not in shown
        assert "color" not in shown
    assert _Cells(few).cells == ["x", BAD, BAD, "1", "", "3 bytes"]
    assert "10 of 5,000 rows are shown." in many
    assert _Cells(many).tags.count("tr") == 11
    wide = Table(TableId("0", "w"), list(map(str, range(50))), [["y" * 500] * 50])._repr_html_()
    assert "20 of 50 columns are shown." in wide
    assert "y" * 200 not in wide
    assert "…" in wide


def test_datasets_are_shown() -> None:
    query = Query("q1", BAD, (TableId("0", "a"),), ("1", "2"))
    corpus = MemoryCorpus([_table(f"t{i}") for i in range(12)])
    dataset = Dataset(load("mini").info, "test", corpus, (query,) * 9, notes=("a note",))
    shown = dataset._repr_html_()
    for part in ("mini test: 12 tables, 9 queries", "The first 5 queries are shown.", "a note"):
        assert part in shown
    assert _Cells(shown).cells[3:6] == [BAD, "a", "12"]
    assert "<script" not in shown
