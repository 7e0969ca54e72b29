"""Conclusions of stored runs, in words, tables, Markdown and a picture."""

import json
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from target_bench import TARGET
from target_bench.core import text_tables
from target_bench.core.errors import ConfigError
from target_bench.reporting.compare import compare
from target_bench.reporting.conclusions import written
from target_bench.reporting.conclusions.conclude import Conclusion, conclude
from target_bench.runs.result import read_run
from tests.builders import Recorder, only

FIELDS = ("[header]", "[title, header, rows]")


@cache
def _folders() -> tuple[Path, ...]:
    """Two settings of a retriever with three fields each, another retriever, an upper bound."""
    target = TARGET(("retrieval", "mini"), out=mkdtemp(prefix="target-bench-test-"))
    specs = [
        f"bm25:k1={k1},fields={fields}"
        for fields in ("[section]", "[header]", "[title, header, rows]")
        for k1 in (0.9, 1.2)
    ]
    return tuple(only(target.run(text, limit=80)).folder for text in (*specs, "tfidf", "oracle"))


def _concluded() -> Conclusion:
    (found,) = conclude(_folders())
    return found


def test_the_ranking_is_that_of_a_comparison() -> None:
    found = _concluded()
    (ranking,) = found.rankings
    assert (found.metric, found.n, found.corpus) == ("recall@10", 80, "mini test")
    assert ranking.factors == ("retriever", "k1", "fields")
    assert len(ranking.places) == 7, "without the upper bound"
    scores = [place.score for place in ranking.places]
    assert scores == sorted(scores, reverse=True)
    order = [place.folder for place in ranking.places]
    compared = compare(order, ["recall@10"])
    for place, row in zip(ranking.places, compared.rows, strict=True):
        assert place.score == pytest.approx(row.score)
        assert place.low == pytest.approx(row.low, abs=1e-5)
        if row.difference is not None and place.difference is not None:
            assert place.difference.p == row.difference.p_corrected
            assert place.difference.low == pytest.approx(row.difference.low)
    assert found.notes == ("Of upper and lower bounds 1 run is left out.",)


def test_effects_and_grid() -> None:
    found = _concluded()
    assert found.effects[0].factor == "fields"
    assert found.effects[0].is_shown
    assert found.effects[0].combinations == 2
    grid = found.grid
    assert grid is not None
    assert (grid.rows, grid.columns) == ("fields", "k1"), "tfidf has no fields"
    assert all(score is not None for row in grid.scores for score in row)
    (nested,) = conclude(_folders(), crossed=["retriever", "fields"])
    assert nested.grid is not None
    assert not nested.grid.is_crossed
    (chosen,) = conclude(_folders(), "mrr", ["k1", "fields"])
    assert chosen.grid is not None
    assert (chosen.grid.rows, chosen.grid.row_levels) == ("k1", ("0.9", "1.2"))
    assert len(chosen.grid.column_levels) == 3
    assert chosen.metric == "mrr"
    json.dumps(chosen.to_json(), allow_nan=False)


def test_a_setting_of_one_of_two_retrievers_makes_no_table() -> None:
    (found,) = conclude([_folders()[0], _folders()[2], _folders()[-2]])
    assert {effect.factor for effect in found.effects} == {"retriever", "fields"}
    assert found.grid is None


def test_words_and_tables() -> None:
    found = _concluded()
    said = written.sentences(found)
    assert said[0].startswith("mini test, 80 queries: the best of 7 cells by recall@10 is ")
    assert "do not tell it apart from" in said[1]
    assert "confirm it on another split" in said[2]
    assert "fields (" in said[3]
    shown = text_tables.text(written.tables(found, 3), 80)
    assert max(map(len, shown.splitlines())) <= 80
    assert "4 more, all in the file" in shown
    assert "\n fields " in shown
    page = written.markdown("titles", [found], ["a b.svg"])
    assert page.startswith("# What the sweep titles shows\n")
    assert "![heat map](a%20b.svg)" in page
    assert page.count("\n| 7 |") == 1
    assert "\\[title, header, rows\\]" in page


def test_files_beside_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    path, notes = written.write(tmp_path, "titles", [_concluded()])
    assert (path.name, notes) == ("titles.conclusions.md", [])
    (picture,) = tmp_path.glob("*.svg")
    assert f"({picture.name})" in path.read_text(encoding="utf-8")
    picture.unlink()
    monkeypatch.setattr(written, "find_spec", lambda _: None)
    _, notes = written.write(tmp_path, "titles", [_concluded()])
    assert notes == ["A heat map needs the extra plots: pip install target-bench[plots]"]
    assert not list(tmp_path.glob("*.svg"))


def test_queries_and_tables_apart(tmp_path: Path) -> None:
    """Other queries are another conclusion; other tables another ranking, and a factor."""
    (tmp_path / "more" / "tables").mkdir(parents=True)
    (tmp_path / "more" / "tables" / "t.csv").write_text("a,b\nmedal,1\n", encoding="utf-8")
    target = TARGET(("retrieval", "mini"), out=tmp_path)
    folders = [
        only(target.run(name, limit=5, distractors=mixed)).folder
        for name in ("bm25", "tfidf")
        for mixed in ((), str(tmp_path / "more"))
    ]
    found, other = conclude([*folders, *_folders()])
    assert (found.n, other.n) == (5, 80)
    assert found.rankings[0].tables == "no distractors"
    assert [len(ranking.places) for ranking in found.rankings] == [2, 2]
    assert {effect.factor for effect in found.effects} == {"retriever", "distractors"}


def test_nothing_to_conclude() -> None:
    assert conclude(_folders()[:1]) == []
    assert conclude([]) == []
    with pytest.raises(ConfigError, match="no run of the sweep has the metric 'f1'"):
        conclude(_folders(), "f1")
    with pytest.raises(
        ConfigError, match=r"'b' is not a setting that varies .* retriever, k1, fields"
    ):
        conclude(_folders(), crossed=["b", "k1"])


def test_a_metric_over_other_queries_in_each_run(tmp_path: Path) -> None:
    """``judged@k`` is over the queries for which a table was found: two with headers alone."""
    (tmp_path / "own" / "tables").mkdir(parents=True)
    for i in range(1, 7):
        text = f"x{i if i < 4 else 9},note\nx{i},{'alpha' if i % 2 else 'beta'}\n"
        (tmp_path / "own" / "tables" / f"t{i}.csv").write_text(text, encoding="utf-8")
    asked = [
        {"query_id": str(i), "query": f"x{i} alpha", "table_id": f"t{i}", "not_relevant": ["t1"]}
        for i in range(2, 7)
    ]
    lines = "".join(json.dumps(one) + "\n" for one in asked)
    (tmp_path / "own" / "queries.jsonl").write_text(lines, encoding="utf-8")
    target = TARGET(("retrieval", tmp_path / "own"), out=tmp_path / "runs", observer=Recorder())
    specs = [f"{name}:fields={fields}" for name in ("bm25", "tfidf") for fields in FIELDS]
    results = [only(target.run(spec, top_k=[5])) for spec in specs]
    (found,) = conclude([result.folder for result in results], "judged@5")
    scores = [read_run(result.folder).scores["judged@5"] for result in results]
    assert found.notes == ("judged@5 is over 2 to 5 queries, by run.",)
    (effect,) = [effect for effect in found.effects if effect.factor == "retriever"]
    means = [level.score for level in effect.levels]
    assert means == pytest.approx(
        [sum(s.value for s in two) / 2 for two in (scores[:2], scores[2:])]
    )
