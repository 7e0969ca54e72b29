"""``list metrics``, ``describe metric`` and ``--by`` on the command line."""

import json
from pathlib import Path

import pytest

from target_bench.core import text_tables
from target_bench.metrics.scores import all_specs
from tests.cli.inside import Inside
from tests.runs.stored import Runs, copied

WIDTHS = (40, 60, 80, 100, 200, None)
PLUGIN = '''
from target_bench import Metric, MetricSpec


class Edits(Metric):
    """Mean number of edits."""

    spec = MetricSpec("edits", "ED", "mean number of edits", "A. Person 2001", of="texts",
                      scale="unbounded", higher_is_better=False, needs=("references",))

    def __init__(self, weight: float = 1.0):
        self.weight = weight

    @property
    def signature(self):
        return f"edits|weight:{self.weight:g}"

    def statistics(self, examples):
        raise NotImplementedError

    def value(self, totals):
        raise NotImplementedError
'''


@pytest.fixture(params=WIDTHS)
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int | None:
    found: int | None = request.param
    monkeypatch.setattr(text_tables, "terminal_width", lambda: found)
    return found


def _fits(out: str, width: int | None) -> None:
    """No line is wider than the terminal, but for a name that is itself."""
    if width is not None:
        wide = [line for line in out.splitlines() if len(line) > width]
        assert all(len(line.split()) <= 2 for line in wide), wide


def test_list(inside: Inside, width: int | None) -> None:
    out = inside.good("list", "metrics")
    for spec in all_specs():
        assert (f"{spec.name}@k" if spec.at_k else spec.name) in out
        assert spec.range in out
        assert all(word in out for word in spec.description.split())
    if "─" in out:  # else blocks of lines, whose sentences the terminal continues
        _fits(out, width)


def test_what_a_description_says(inside: Inside) -> None:
    out = inside.good("describe", "metric", "r_ves")
    for part in ("tasks: text_to_sql", "range: 0 to 111.8", "deterministic: no", "decimals: 2"):
        assert part in out
    out = inside.good("describe", "metric", "recall")
    assert "metric: recall@k\nlabel: R@k\n" in out
    out = inside.good("describe", "metric", "ndcg@10")
    assert "source: Järvelin & Kekäläinen 2002" in out
    assert "signature: ndcg@10 | mean nDCG" in out


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return copied(tmp_path_factory.mktemp("runs"))


def test_run_by(inside: Inside, tmp_path: Path) -> None:
    arguments = ("run", "mini", "--task", "qa", "--retriever", "random", "--limit", "30")
    done = inside(*arguments, "--by", "gold_tables", "--json", "--out", tmp_path)
    assert done.code == 0
    (result,) = json.loads(done.out)["results"]
    parts = result["by"]["gold_tables"]
    assert sum(part["sacrebleu"]["n"] for part in parts.values()) == 30
    assert parts.keys() == {"1", "2"}


@pytest.mark.parametrize("command", ["run", "score", "show", "compare"])
def test_unknown_names_are_reported(
    inside: Inside, runs: Runs, tmp_path: Path, command: str
) -> None:
    arguments: tuple[object, ...] = {
        "run": ("run", "mini", "--retriever", "random", "--out", tmp_path),
        "score": ("score", runs.bm25),
        "show": ("runs", "show", runs.bm25),
        "compare": ("compare", runs.bm25, runs.tfidf),
    }[command]
    done = inside(*arguments, "--by", "colour")
    assert done.code == 2
    assert "unknown slice 'colour'; the queries have: gold_tables" in done.err
