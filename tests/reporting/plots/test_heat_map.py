"""Heat maps of two settings."""

from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from target_bench import TARGET
from target_bench.core.errors import ConfigError
from target_bench.reporting.plots.heat_map import heat_map
from tests.builders import only


def test_same_bytes_with_all_levels(tmp_path: Path) -> None:
    target = TARGET(("retrieval", "mini"), out=tmp_path)
    folders = [
        only(target.run(f"bm25:k1={k1},fields=[{fields}]", limit=20)).folder
        for k1 in (0.5, 0.9)
        for fields in ("header", "section", "title")
    ]
    one, other = tmp_path / "one.svg", tmp_path / "other.svg"
    heat_map(folders, one, settings=["k1", "fields"])
    heat_map(folders, other, settings=["k1", "fields"])
    assert one.read_bytes() == other.read_bytes()
    drawn = one.read_text(encoding="utf-8")
    for word in ("mini test: recall@10", "k1", "fields", "[section]", "0.9"):
        assert f"<!-- {word} -->" in drawn
    with pytest.raises(ConfigError, match="needs two settings"):
        heat_map(folders[:1], one)
    validation = [
        only(target.run(name, "validation", limit=5)).folder for name in ("bm25", "tfidf")
    ]
    with pytest.raises(ConfigError, match="several sets of queries: mini test"):
        heat_map([*folders, *validation], one)
