"""Names of runs on the command line, in files, in sweeps and in Python."""

import json
from pathlib import Path

import pytest

from target_bench import TARGET
from target_bench.core.errors import ConfigError
from target_bench.core.settings import named
from target_bench.runs.result import list_runs, read_run
from tests.builders import Counting, only
from tests.cli.inside import Inside

NAMED = ("--retriever", "ours=bm25:k1=0.9", "--retriever", "plain=bm25")


def test_a_name_is_shown_and_is_no_part_of_the_identity(inside: Inside) -> None:
    command = ("run", "mini", "--task", "retrieval", "--limit", "5")
    out = inside(*command, *NAMED).out
    assert "\n ours " in out
    assert "\n plain " in out
    assert "bm25:k1=0.9" not in out.partition("runs/")[0]
    folders = {run.label: run.folder for run in list_runs(Path("runs"))}
    assert set(folders) == {"ours", "plain"}
    again = json.loads(inside.good(*command, "--retriever", "theirs=bm25:k1=0.9", "--json"))
    (result,) = again["results"]
    assert (Path(result["folder"]), result["retriever"]) == (folders["ours"], "bm25:k1=0.9")
    assert result["names"] == ["theirs"]
    assert read_run(folders["ours"]).label == "theirs"
    inside.good(*command, "--retriever", "bm25:k1=0.9", "--json")
    assert read_run(folders["ours"]).label == "theirs", "a command without a name keeps it"
    assert "theirs" in inside.good("compare", *folders.values(), "--metric", "mrr")
    assert "theirs" in inside.good("runs", "list")
    config = inside.good("runs", "show", folders["ours"], "--config")
    assert "- theirs=bm25:k1=0.9" in config
    Path("again.yaml").write_text(config, encoding="utf-8")
    found = json.loads(inside.good("run", "--config", "again.yaml", "--json"))["results"]
    assert Path(found[0]["folder"]) == folders["ours"]


def test_answers_have_the_names_of_both(inside: Inside) -> None:
    given = ("--retriever", "ours=bm25", "--generator", "copy=extractive")
    line = ("run", "mini", "--task", "qa", "--limit", "3", *given, "--json")
    (result,) = json.loads(inside(*line).out)["results"]
    assert result["names"] == ["ours", "copy"]
    run = read_run(result["folder"])
    assert (run.label, run.retrieval.label) == ("ours + copy", "ours")
    inside("generate", run.folder, "--generator", "quiet=empty")
    labels = {other.label for other in list_runs(Path("runs")) if other.has_answers}
    assert labels == {"ours + copy", "ours + quiet"}


def test_two_things_of_one_name_are_refused(inside: Inside) -> None:
    line = ("run", "mini", "--retriever", "a=bm25", "--retriever")
    assert "'a' stands for both" in inside.bad(2, *line, "a=lsa")
    assert "'bm25' stands for both" in inside.bad(2, *line, "b=bm25")
    Path("s.yaml").write_text("corpora: mini\nretrievers: [a=bm25, a=lsa]\n", encoding="utf-8")
    assert "s.yaml: retrievers[1]: 'a=bm25' and 'a=lsa'" in inside.bad(2, "sweep", "s.yaml")


@pytest.mark.parametrize("given", ["9x=bm25", " = bm25", "-=bm25", "x=", "x" * 61 + "=bm25"])
def test_a_name_that_cannot_be(given: str) -> None:
    with pytest.raises(
        ConfigError, match="a name of at most 60 characters that begins with a lett"
    ):
        named(given)


def test_names_in_files_and_sweeps(inside: Inside) -> None:
    entry = "{name: ours=bm25, k1: %s}"
    Path("run.yaml").write_text(
        f"corpora: mini\nlimit: 3\ntasks: retrieval\nretrievers: {entry % 0.7}\n", encoding="utf-8"
    )
    (result,) = json.loads(inside.good("run", "--config", "run.yaml", "--json"))["results"]
    assert (result["retriever"], result["names"]) == ("bm25:k1=0.7", ["ours"])
    Path("s.yaml").write_text(
        f"corpora: mini\nlimit: 3\nretrievers: [{entry % '[0.9, 1.2]'}, lsa]\n",
        encoding="utf-8",
    )
    cells = json.loads(inside("sweep", "s.yaml", "--json", "--quiet").out)["cells"]
    assert [cell.get("retriever_name") for cell in cells] == ["ours", "ours", None]
    assert read_run(cells[1]["folder"]).label == "ours"
    rules = Path("s.yaml").read_text(encoding="utf-8") + "include: {retriever: our*}\n"
    Path("s.yaml").write_text(rules, encoding="utf-8")
    planned = json.loads(inside("sweep", "s.yaml", "--json", "--dry-run").out)["cells"]
    assert [cell["retriever"] for cell in planned] == ["bm25:k1=0.9", "bm25:k1=1.2"]


def test_names_in_python(tmp_path: Path) -> None:
    target = TARGET(("retrieval", "mini"), out=tmp_path)
    result = only(target.run(Counting(), name="first tables", limit=3))
    assert list(result.names) == ["first tables"]
    assert "first tables" in str(result)
    assert read_run(result.folder).label == "first tables"
    assert read_run(only(target.run("b=bm25", limit=3)).folder).label == "b"
    both = target.run([Counting(), "tfidf"], name=["one", "two"], limit=3)
    assert [list(result.names) for result in both] == [["one"], ["two"]]
    for names in ("one", ["one", "one"]):
        with pytest.raises(ConfigError, match="expected 2 names, each once"):
            target.run([Counting(), "tfidf"], name=names)
    with pytest.raises(ConfigError, match="'a' stands for both"):
        target.run(["a=bm25", "a=tfidf"])
