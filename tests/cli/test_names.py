"""Names of runs on the command line, in files, in sweeps and in Python."""

import json
from pathlib import Path

from target_bench.runs.result import read_run
from target_bench.runs.run import list_runs
from tests.cli.inside import Inside

NAMED = ("--retriever", "ours=bm25:k1=0.9", "--retriever", "plain=bm25")


def test_a_name_is_shown_and_is_no_part_of_the_identity(inside: Inside) -> None:
    command = ("run", "mini", "--task", "retrieval", "--limit", "5")
    out = inside(*command, *NAMED).out
    assert "\n ours " in out
    assert "\n plain " in out
    assert "bm25:k1=0.9" not in out.partition("runs/")[0]
    folders = {run.command.label: run.folder for run in list_runs(Path("runs"))}
    assert set(folders) == {"ours", "plain"}
    again = json.loads(inside.good(*command, "--retriever", "theirs=bm25:k1=0.9", "--json"))
    (result,) = again["results"]
    assert (Path(result["folder"]), result["retriever"]) == (folders["ours"], "bm25:k1=0.9")
    assert result["names"] == ["theirs"]
    assert read_run(folders["ours"]).command.label == "theirs"
    inside.good(*command, "--retriever", "bm25:k1=0.9", "--json")
    assert read_run(folders["ours"]).command.label == "theirs", "a command without a name keeps it"
    assert "theirs" in inside.good("compare", *folders.values(), "--metric", "mrr")
    assert "theirs" in inside.good("runs", "list")


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
    cells = json.loads(inside("sweep", "s.yaml", "--json").out)["cells"]
    assert [cell["retriever"] for cell in cells] == ["ours=bm25:k1=0.9", "ours=bm25:k1=1.2", "lsa"]
    assert read_run(cells[1]["folder"]).command.label == "ours"
