"""Going on with a stored run: nothing stored is taken for what it is not."""

import json
from pathlib import Path
from typing import Any

import pytest

from target_bench.metrics import classification
from target_bench.tasks import fact_verification
from tests.builders import json_lines, rewrite
from tests.cli.inside import Inside
from tests.runs import processes

RUN = ("run", "./shop", "--retriever", "bm25", "--top-k", "1", "--task")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Five tables of one cell each, and a question about each."""
    (tmp_path / "shop" / "tables").mkdir(parents=True)
    _write_tables(tmp_path / "shop", range(5))
    _write_queries(tmp_path / "shop", "answer {}")
    return tmp_path / "shop"


def _write_tables(shop: Path, words: Any) -> None:
    for i, word in enumerate(words):
        (shop / "tables" / f"t{i}.csv").write_text(f"a\nword{word}\n", encoding="utf-8")


def _write_queries(shop: Path, answer: str) -> None:
    queries = (
        {"query_id": f"q{i}", "query": f"word{i}", "table_id": f"t{i}", "answer": answer.format(i)}
        for i in range(5)
    )
    (shop / "queries.jsonl").write_text(json_lines(queries), encoding="utf-8")


def _ranked(inside: Inside) -> Path:
    """Return the folder of the rankings of the shop."""
    (result,) = inside.results(*RUN, "retrieval")
    return Path(result["folder"])


def test_a_run_by_its_id(inside: Inside, shop: Path) -> None:
    """A run is its folder, the name of that, or the hash at the end."""
    ranked = _ranked(inside)
    for name in (str(ranked), ranked.name, ranked.name[-12:]):
        assert inside.results("score", name)[0]["folder"] == str(ranked.resolve())
    inside.good("report", ranked.name)
    inside.good("runs", "export", ranked.name)


def test_other_tables_are_refused(inside: Inside, shop: Path) -> None:
    """Old rankings are never filed under the new data."""
    folder = _ranked(inside)
    _write_tables(shop, [1, 2, 3, 4, 0])
    message = inside.bad(2, "score", folder)
    assert f"the tables of {shop} have changed since the run" in message
    assert len(list(Path("runs").iterdir())) == 1
    assert inside.results(*RUN, "retrieval")[0]["scores"]["recall@1"]["value"] == 0


def test_answers_keep_the_prompt_they_were_made_with(inside: Inside, shop: Path) -> None:
    """Scoring files nothing under the prompt of a run that was never made."""
    Path("short.yaml").write_text("tokens: 1\n")
    done = inside(*RUN, "qa", "--prompt", "short.yaml", "--json")
    (asked,) = json.loads(done.out)["results"]
    assert asked["answers"]["truncated"] == 5
    scores = Path(asked["folder"]) / "scores.json"
    scores.unlink()
    inside.good("score", asked["folder"])
    assert scores.is_file()
    assert len(list(Path("runs").iterdir())) == 2
    assert "reused" not in inside.good(*RUN, "qa")


def test_answers_are_scored_again_when_they_are_read_in_another_way(
    inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From what is stored: the generator is gone."""
    (tmp_path / "brief.py").write_text(
        "class Brief:\n    def generate(self, request):\n        return 'It is not true.'\n",
        encoding="utf-8",
    )
    run = ("run", "mini", "--task", "fact_verification", "--retriever", "oracle", "--top-k", "1",
           "--generator", "brief.py:Brief", "--limit", "5")  # fmt: skip
    with monkeypatch.context() as earlier:
        earlier.setitem(classification.LABEL_RULES, "strict", "strict.2")
        earlier.setattr(fact_verification, "parse_label", lambda *_: None)
        (before,) = inside.results(*run)
    (tmp_path / "brief.py").unlink()
    assert before["answers"]["unparsed"] == 5
    out = inside.telling("nothing was generated", "score", before["folder"], "--json")
    (after,) = json.loads(out)["results"]
    assert after["answers"]["unparsed"] == 0
    assert after["folder"] != before["folder"]
    signatures = [result["scores"]["accuracy"]["signature"] for result in (before, after)]
    assert ["labels:strict.2" in signatures[0], "labels:strict.7" in signatures[1]] == [True, True]
    inside.good("score", after["folder"])


def test_failures_are_not_stored_again(inside: Inside, shop: Path) -> None:
    (shop.parent / "lame.py").write_text(
        "class Lame:\n"
        "    def embed_corpus(self, corpus):\n"
        "        self.ids = corpus.ids\n"
        "    def retrieve(self, query, top_k):\n"
        "        if query == 'word3':\n"
        "            raise RuntimeError('lame')\n"
        "        return self.ids[:top_k]\n",
        encoding="utf-8",
    )
    run = ("run", "./shop", "--retriever", "lame.py:Lame", "--top-k", "1", "--task", "retrieval")
    for _ in range(2):
        done = inside(*run, "--json")
        assert done.code == 3
        assert "failed on 1 of 5" in done.err


def test_damaged_manifest(inside: Inside, shop: Path) -> None:
    folder = _ranked(inside)
    path = folder / "manifest.json"
    whole = path.read_bytes()
    values: list[Any] = [None, [], {"task": "retrieval"}]
    for entry, value in (
        *(("identity", value) for value in values),
        ("command", []),
        ("command", {}),
    ):
        path.write_bytes(whole)
        rewrite(path, lambda manifest, new={entry: value}: manifest | new)  # type: ignore[misc]
        for command in ("score", "runs export"):
            message = inside.bad(4, *command.split(), folder)
            assert "manifest.json: damaged (" in message
            assert f"no {entry}." in message or f"{entry} is {value}: input should be" in message


RUDE = """
import os, sys
from pathlib import Path


class Rude:
    def __init__(self):
        self.leave("made")

    def leave(self, what):
        folder = Path(__file__).with_name("elsewhere")
        folder.mkdir(exist_ok=True)
        os.chdir(folder)
        os.umask(0o777)
        print(what)
        print(what, file=sys.__stdout__, flush=True)
        os.write(1, what.encode())

    def embed_corpus(self, corpus):
        self.leave("embedded")
        self.ids = corpus.ids

    def retrieve(self, query, top_k):
        self.leave("asked")
        return self.ids[:top_k]

    def generate(self, request):
        self.leave("answered")
        return "yes"
"""


def test_a_plug_in_that_leaves_the_process_otherwise_breaks_no_run(tmp_path: Path) -> None:
    """Another folder, another umask, and words past ``sys.stdout``; ``--out`` is relative."""
    (tmp_path / "rude.py").write_text(RUDE, encoding="utf-8")
    words = ["--retriever", "rude.py:Rude", "--generator", "rude.py:Rude", "--limit", "4"]
    run = processes.command("run", "mini", "--task", "qa", *words, "--out", "out", "--json")
    for reused in (False, True):
        process = processes.start_unforked(run, tmp_path)
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        (result,) = json.loads(out)["results"]
        assert ("asked" in err) is not reused
        assert (tmp_path / result["folder"]).is_dir()
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert all(path.stat().st_mode & 0o400 for path in files)
