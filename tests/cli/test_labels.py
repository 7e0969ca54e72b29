"""``target-bench labels``: from a folder without labels to scores, and ratings of answers."""

import json
from pathlib import Path

from target_bench.data.load import load, of_task
from tests.builders import json_lines
from tests.cli.inside import Inside
from tests.reporting.labels.conftest import write_shop

GOLD = {"q1": "films", "q2": "prices", "q3": "staff", "q4": "rivers"}


def _fill(form: Path, annotator: str, wrong: str = "") -> Path:
    """Fill in lines as a person who knows the gold tables, and errs on a question."""
    records = [json.loads(line) for line in form.read_text(encoding="utf-8").splitlines()]
    for record in records:
        name = record["query_id"]
        right = (record["table_id"] == GOLD[name]) != (name == wrong)
        record |= {"annotator": annotator, "label": "relevant" if right else "not relevant"}
    out = Path(f"{annotator}.json")
    out.write_text(json.dumps(records))
    return out


def test_from_questions_to_scores(inside: Inside) -> None:
    write_shop(Path("shop"))
    pooled = ("--retriever", "bm25", "--retriever", "tfidf", "--depth", "2")
    printed = inside("labels", "form", "./shop", *pooled, "-o", "f.jsonl")
    assert printed.code == 0, printed.err
    assert "4 of 4 questions" in printed.out
    assert "target-bench labels read ./shop labels-*.json" in printed.out
    files = _fill(Path("f.jsonl"), "ann"), _fill(Path("f.jsonl"), "bob", wrong="q1")
    before = Path("shop/queries.jsonl").read_text()
    printed = inside("labels", "read", "./shop", *files)
    assert "4 questions from 2 annotators: 4 labelled" in printed.out
    assert "ann and bob" in printed.out
    assert "relevant: ann; not relevant: bob" in printed.out
    assert "Nothing is written without -o, as in -o shop/queries.jsonl" in printed.err
    assert Path("shop/queries.jsonl").read_text() == before
    printed = inside("labels", "read", "./shop", "ann.json", "-o", "shop/queries.jsonl", "--json")
    assert json.loads(printed.out)["questions"] == {"labelled": 4}
    records = [json.loads(line) for line in Path("shop/queries.jsonl").read_text().splitlines()]
    assert {r["query_id"]: r["table_id"] for r in records} == GOLD
    scored = inside("run", "./shop", "--retriever", "random", "--top-k", "5", "--json")
    scores = json.loads(scored.out)["results"][0]["scores"]
    assert scores["recall@5"]["value"] == 1.0
    assert 0 < scores["judged@5"]["value"] < 1
    assert "of the first 5 tables of labelled queries were never judged" in scored.err
    assert "bpref" in scores


def test_a_stored_run_and_the_questions_that_are_left(inside: Inside) -> None:
    write_shop(Path("shop"))
    inside("run", "./shop", "--retriever", "bm25", "--top-k", "1,2")
    (run,) = Path("runs").iterdir()
    printed = inside("labels", "form", "./shop", "--run", run, "--depth", "2", "--sample", "3").out
    assert "form.html: " in printed
    assert "3 of 4 questions" in printed
    assert "the pool is of one retriever" in printed
    queries = [
        {"query_id": "q5", "query": "xylophones", "table_id": []},
        {"query_id": "q6", "query": "Heat", "table_id": "films", "not_relevant": ["prices"]},
    ]
    with Path("shop/queries.jsonl").open("a") as file:
        file.write(json_lines(queries))
    printed = inside("labels", "form", "./shop", "--retriever", "bm25", "--depth", "2").out
    assert "4 of 6 questions" in printed
    assert "Left out: 1 question for which no retriever found a table." in printed
    assert "1 question for which all tables among the first 2 are judged already." in printed


def test_review_of_questions(inside: Inside) -> None:
    write_shop(Path("shop"), {name: [table] for name, table in GOLD.items()}, synthetic=True)
    printed = inside.good("labels", "form", "./shop", "--review", "-o", "review.csv")
    assert "4 of 4 questions\n" in printed
    text = Path("review.csv").read_text(encoding="utf-8")
    lines = text.replace("\r\n", "\n").split("\n")
    head = lines[0].split(",")
    assert head[:3] == ["query_id", "annotator", "question"]
    filled = [
        line.replace(f"{name},,,", f"{name},a,{'rejected' if name == 'q1' else 'accepted'},")
        for line in lines
        for name in [line.partition(",")[0]]
    ]
    Path("a.csv").write_text("\n".join(filled), encoding="utf-8")
    printed = inside("labels", "read", "./shop", "a.csv", "-o", "shop/queries.jsonl").out
    assert "4 questions from 1 annotator: 3 labelled, 1 rejected" in printed
    records = [json.loads(line) for line in Path("shop/queries.jsonl").read_text().splitlines()]
    assert [(r["query_id"], r["split"]) for r in records][-1] == ("q1", "rejected")
    assert sum(r.get("reviewed", False) for r in records) == 3
    both = ("--review", "--retriever", "bm25", "-o", "f.jsonl")
    assert "tables to judge" in inside("labels", "form", "./shop", *both).out


def test_ratings(inside: Inside) -> None:
    words = ("run", "mini", "--task", "table-to-text", "--generator")
    inside.good(*words, "template", "--generator", "gold", "--json")
    gold, run = sorted(Path("runs").iterdir(), key=lambda path: "template" in path.name)

    def rated(runs: list[Path], sample: int, *options: object, **replies: list[object]) -> str:
        inside.good("labels", "rate", *runs, "-o", "f.jsonl", "--sample", sample)
        records = [json.loads(line) for line in Path("f.jsonl").read_text().splitlines()]
        ((name, values),) = replies.items()
        filled = [{**r, name: value} for r, value in zip(records, values, strict=True)]
        Path("a.json").write_text(json.dumps(filled))
        return inside.good("labels", "rated", run, "a.json", *options)

    compared = rated([run, gold], 2, "--beside", gold, better=["tie", "tie"])
    assert ["better", "2", "0.50", "0.50", "+0.00", "1.00"] in map(str.split, compared.splitlines())
    printed = rated([run], 6, fluency=[0, 1, 2] * 2)
    assert "6 answers rated by 1 annotator\n" in printed
    assert "fluency: mean 1.00" in printed
    assert "coverage[cells]" in printed
    ratings = json.loads(inside.good("labels", "rated", run, "a.json", "--json"))
    assert ratings["metrics"][0]["criterion"] == "fluency"
    assert "is of the run" in inside.bad(2, "labels", "rated", gold, "a.json")


def test_faults(inside: Inside) -> None:
    write_shop(Path("shop"))
    Path("a.json").write_text("{}")
    read = ("read", "./shop", "a.json")
    for words, message in (
        (("form", "./shop"), "name with --retriever or --run"),
        (("form", "./shop", "--review"), "no question has a gold table"),
        (read, "a.json: expected records of a form"),
        ((*read, "-o", "labels.txt"), "-o labels.txt: name a file of queries"),
    ):
        assert message in inside.bad(2, "labels", *words)


def test_a_retriever_that_is_paid_for_is_asked_on_consent(inside: Inside) -> None:
    write_shop(Path("shop"))
    Path("paid.py").write_text(
        "from target_bench.retrievers.bm25 import BM25\n\n\nclass Paid(BM25):\n    paid = True\n"
    )
    words = ("labels", "form", "./shop", "--retriever", "paid.py:Paid")
    assert "pass --yes to send them" in inside.bad(2, *words)
    assert "form.html: " in inside(*words, "--yes").out


def test_how_many_labels_are_needed(inside: Inside) -> None:
    write_shop(Path("shop"))
    inside("run", "./shop", "--retriever", "bm25", "--retriever", "random", "--top-k", "1,2")
    runs = sorted(Path("runs").iterdir())
    assert "random and bm25: 4 questions" in inside.good("labels", "plan", *runs)
    (at_1, _) = json.loads(inside.good("labels", "plan", *runs, "--json"))
    assert [needed["difference"] for needed in at_1["needed"]] == [0.01, 0.02, 0.05, 0.1]


def test_agreement_on_highlighted_cells(inside: Inside) -> None:
    (query, *_) = of_task(load("mini"), "table_to_text").queries
    places = query.metadata["highlighted_cells"]
    for name, cells in (("ann", places), ("bob", places[:1])):
        record = {"query_id": query.id, "highlighted_cells": cells}
        Path(f"{name}.jsonl").write_text(json.dumps(record))
    words = ("labels", "read", "mini", "ann.jsonl", "bob.jsonl")
    kappa = json.loads(inside.good(*words, "--json"))["kappa"]
    shown = f"{kappa:.3f}".removeprefix("0")
    assert f"Fleiss' kappa: {shown}\n" in inside.good(*words)
    message = inside.bad(2, *words, "-o", "new.jsonl")
    assert "agreement on highlighted cells is printed" in message
