"""Freeze what the program computes and show what a change moves.

``python -m tools.net record FILE`` runs every case below on ``$TARGET_BENCH_DATA`` and writes its
rankings (a digest), scores, verdicts and exit codes to FILE. ``python -m tools.net diff FILE`` runs
the cases again and prints what is not the same; it exits with 1 if anything differs that
``tools/net_reasons.json`` does not explain. ``--only REGEX`` selects cases by name. What FILE has
already is not recorded again, so that an interrupted recording goes on.

Commands are spelled as a user types them, so that the net outlives every move of a module. It is
here until the house is rebuilt.
"""

import argparse
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

DATA = Path(os.environ.get("TARGET_BENCH_DATA", "data"))
REASONS = Path(__file__).with_name("net_reasons.json")
TOLERANCE = 1e-9

LEXICAL = ("bm25", "tfidf", "lsa", "rows", "random")
MODELS = ("dense:encoder=minilm", "hybrid", "best", "rerank")
SMALL = ("mini", "spider", "bird", "beaver", "infiagent")
LARGE = (
    *("ottqa", "fetaqa", "tabfact", "wtq"),
    *("rotowire", "wikitabletext", "spider2-lite"),
)

Values = dict[str, Any]
Case = Callable[[Path], Values]


def main() -> int:
    """Record or compare; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["record", "diff"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="", metavar="REGEX")
    options = parser.parse_args()
    recorded: dict[str, Values] = (
        json.loads(options.file.read_text(encoding="utf-8")) if options.file.exists() else {}
    )
    cases = {name: case for name, case in all_cases() if re.search(options.only, name)}
    if options.action == "record":
        for name, case in cases.items():
            if name not in recorded:
                recorded[name] = _in_a_folder(case)
                _write(options.file, recorded)
                print(name, flush=True)
        return 0
    reasons: dict[str, str] = json.loads(REASONS.read_text(encoding="utf-8"))
    unexplained = 0
    compared = {name: case for name, case in cases.items() if name in recorded}
    for name, case in compared.items():
        for difference in differences(recorded[name], _in_a_folder(case)):
            line = f"{name}: {difference}"
            reason = next((why for rule, why in reasons.items() if re.search(rule, line)), None)
            unexplained += reason is None
            print(line if reason is None else f"{line}  [{reason}]", flush=True)
    left = len(cases) - len(compared)
    print(f"{len(compared)} cases, {unexplained} differences without a reason; {left} not recorded")
    return int(unexplained > 0)


def differences(old: Values, new: Values) -> Iterator[str]:
    """Say in one line per value what is not the same."""
    for key in sorted(old.keys() | new.keys()):
        if key not in new:
            yield f"{key} is gone (it was {old[key]})"
        elif key not in old:
            yield f"{key} is new ({new[key]})"
        elif not _same(old[key], new[key]):
            yield f"{key}: {old[key]} -> {new[key]}"


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, float) and isinstance(new, float):
        return abs(old - new) <= TOLERANCE * max(1.0, abs(old)) or (old != old and new != new)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_same, old, new))
    return bool(old == new)


def all_cases() -> Iterator[tuple[str, Case]]:
    """Every case with its name, cheap ones first."""
    for corpora, retrievers in ((SMALL, LEXICAL), (LARGE, LEXICAL), (SMALL + LARGE, MODELS)):
        for corpus in corpora:
            for retriever in retrievers:
                yield f"retrieval/{corpus}/{retriever}", _ranking(corpus, retriever)
    for task in ("qa", "fact-verification", "text-to-sql", "text-to-table", "table-to-text"):
        yield f"answers/mini/{task}", _answers(task, "mini")
    for task, corpus in (("qa", "ottqa"), ("qa", "fetaqa"), ("fact-verification", "tabfact")):
        yield f"answers/{corpus}/{task}", _answers(task, corpus)
    for size in ("small", "base"):
        yield (
            f"predictions/fetaqa/t5-{size}",
            _predictions(
                *("fetaqa", "qa", f"fetaqa/t5-{size}-test-predictions.txt.gz"),
                *("--order", str(DATA / "fetaqa/t5-test-predictions.feta_id_order.json.gz")),
            ),
        )
    yield (
        "predictions/totto/sample",
        _predictions("totto", "table-to-text", "totto/output_sample.txt", "--split", "validation"),
    )
    for file in sorted((DATA / "bird/mini_dev_predictions").glob("*.json.gz")):
        yield (
            f"predictions/bird/{file.name.removesuffix('.json.gz')}",
            _predictions(
                *("bird", "text-to-sql:timeout=10", f"bird/mini_dev_predictions/{file.name}"),
                *("--split", "mini_dev"),
            ),
        )
    for model in ("gpt", "gemini"):
        yield f"predictions/rotowire/{model}", _rotowire(model)
    for corpus in ("mini", "tabxbench"):
        yield f"comparison/{corpus}", _ranked_tables(corpus)
    yield "gold/spider/sqlite", _gold("spider", "sqlite")
    yield "gold/spider/duckdb", _gold("spider", "duckdb")
    yield "gold/bird/sqlite", _gold("bird", "sqlite")
    yield "gold/bird/duckdb", _gold("bird", "duckdb")
    yield "labels/written", _written_labels
    yield "compare/mini", _compared
    yield "submission/mini", _submitted


def _ranking(corpus: str, retriever: str) -> Case:
    def case(folder: Path) -> Values:
        spelled = f"rerank:model={_cross_encoder(folder)}" if retriever == "rerank" else retriever
        command = ["run", "--task", "retrieval", "--corpus", corpus, "--retriever", spelled]
        if corpus == "wikitabletext":  # its files lie beside those of RotoWire
            command += ["--data-dir", str(DATA / "rotowire")]
        printed = _json([*command, "--top-k", "1,10,50"], folder)
        return _scores(printed) | {"rankings": _rankings(folder)}

    return case


def _answers(task: str, corpus: str) -> Case:
    def case(folder: Path) -> Values:
        command = ["run", "--task", task, "--corpus", corpus, "--retriever", "bm25"]
        return _scores(_json([*command, "--top-k", "1,5", "--limit", "500"], folder))

    return case


def _predictions(corpus: str, task: str, file: str, *more: str) -> Case:
    def case(folder: Path) -> Values:
        command = ["score", corpus, "--task", task, "--predictions", str(DATA / file)]
        return _scores(_json([*command, *more], folder))

    return case


def _rotowire(model: str) -> Case:
    """Score a model's tables of RotoWire; GPT's lie by the text that they were made from."""

    def case(folder: Path) -> Values:
        outputs = DATA / "rotowire/model_outputs"
        if model == "gpt":
            raw = gzip.decompress((outputs / "gpt.rotowire.raw.json.gz").read_bytes())
            by_text = json.loads(raw)
            texts = gzip.decompress((DATA / "rotowire/rotowire.test.text.gz").read_bytes()).decode()
            answers = {i: by_text[t] for i, t in enumerate(texts.split("\n")) if t in by_text}
        else:
            raw = gzip.decompress((outputs / f"{model}.rotowire.raw.jsonl.gz").read_bytes())
            records = [json.loads(line) for line in raw.decode().splitlines()]
            answers = {record["key"]: record["result"] for record in records}
        rows = [json.dumps({"query_id": str(i), "answer": text}) for i, text in answers.items()]
        (folder / "answers.jsonl").write_text("\n".join(rows), encoding="utf-8")
        return _predictions("rotowire", "text-to-table", str(folder / "answers.jsonl"))(folder)

    return case


def _ranked_tables(corpus: str) -> Case:
    """Score each table of a corpus whose tables people ranked beside their reference."""

    def case(_: Path) -> Values:
        from target_bench.data.load import load
        from target_bench.tables.compared_tables import ComparedTables

        ranked = [q for q in load(corpus).queries if "rank" in q.metadata]
        pairs = {
            query.id: ComparedTables(query.text, query.references[0], "text") for query in ranked
        }
        return {
            name: float(pair.comparisons[0].score()) if pair.answer.tables else 0.0
            for name, pair in pairs.items()
        }

    return case


def _gold(corpus: str, engine: str) -> Case:
    """Score the gold SQL of a corpus as predictions."""

    def case(folder: Path) -> Values:
        from target_bench.data.load import load

        queries = load(corpus).queries
        lines = [json.dumps({"query_id": q.id, "sql": q.references[0]}) for q in queries]
        (folder / "gold.jsonl").write_text("\n".join(lines), encoding="utf-8")
        task = f"text-to-sql:engine={engine},timeout=20"
        printed = _json(["score", corpus, "--task", task, "--predictions", "gold.jsonl"], folder)
        report = printed["results"][0]["report"]
        counts = {f"outcome {name}": n for name, n in report["outcomes"].items()}
        return _scores(printed) | counts | {"left out": _digest(sorted(report["left_out"]))}

    return case


def _written_labels(_: Path) -> Values:
    """Read the verdict of each written answer of the tests: verified, refuted or unread."""
    from target_bench.metrics.labels import parse_label

    file = Path(__file__).parent.parent / "tests/metrics/data/label_answers.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {str(i): str(parse_label(row["text"])) for i, row in enumerate(rows)}


def _compared(folder: Path) -> Values:
    command = ["run", "mini", "--task", "retrieval", "--top-k", "1,10", "--retriever"]
    printed = _json([*command, "bm25", "--retriever", "lsa"], folder)
    ids = sorted(path.name for path in folder.glob("runs/*/") if path.is_dir())
    compared = json.loads(_run(["compare", *ids, "--out", "runs", "--json"], folder).stdout)
    bm25, lsa = ids
    gates = {
        f"gate {limit}": _run(
            ["gate", bm25, "--run", lsa, "--out", "runs", "--fail-on", limit], folder, check=False
        ).returncode
        for limit in ("recall@10<-0.05", "recall@1<-0.01", "recall@1<0")
    }
    return _scores(printed) | _numbers(compared) | gates


def _submitted(folder: Path) -> Values:
    _json(["run", "mini", "--task", "retrieval", "--retriever", "bm25"], folder)
    (run,) = (path for path in (folder / "runs").glob("*/"))
    card = "name: bm25\nauthors: [net]\nkind: lexical\nparameters: 0\nchosen_on: nothing\n"
    rest = "trained_on: {mini: no}\nlicence: Apache-2.0\n"
    (folder / "card.yaml").write_text(card + rest, encoding="utf-8")
    packed = _run(
        ["leaderboard", "submit", str(run), "--card", "card.yaml", "-o", "bm25.tbs.zip"],
        folder,
        check=False,
    )
    verified = _run(["leaderboard", "verify", "bm25.tbs.zip", "--json"], folder, check=False)
    return {"submit": packed.returncode, "verify": verified.returncode}


def _run(command: list[str], folder: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(  # noqa: S603  # the commands of this file
        [sys.executable, "-m", "target_bench", *command],
        cwd=folder,
        env=os.environ
        | {"PYTHONPATH": str(Path(__file__).parent.parent), "OMP_NUM_THREADS": "1"}
        | {"OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if check and ended.returncode not in {0, 3}:
        raise SystemExit(f"{' '.join(command)}: exit {ended.returncode}\n{ended.stderr}")
    return ended


def _json(command: list[str], folder: Path, out: bool = True) -> Any:
    return json.loads(
        _run([*command, "--json", *(["--out", "runs"] if out else [])], folder).stdout
    )


def _scores(printed: Any) -> Values:
    return {
        f"{result['retriever']} {name}" if len(printed["results"]) > 1 else name: [
            float(score["value"]) if score["value"] is not None else None,
            score["n"],
        ]
        for result in printed["results"]
        for name, score in result["scores"].items()
    }


def _rankings(folder: Path) -> str:
    rankings = []
    for file in sorted(folder.glob("runs/*/retrieval.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            rankings.append([record["query_id"], record.get("tables")])
    return _digest(sorted(rankings, key=lambda ranking: str(ranking[0])))


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _numbers(value: Any, place: str = "") -> Values:
    """Every number of a JSON document, by its place; ids of runs are left out."""
    if isinstance(value, dict):
        children = [(f"{place}.{key}", child) for key, child in value.items()]
    elif isinstance(value, list):
        children = [(f"{place}[{i}]", child) for i, child in enumerate(value)]
    else:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return {place: float(value)} if is_number else {}
    return {
        key: number for name, child in children for key, number in _numbers(child, name).items()
    }


def _cross_encoder(folder: Path) -> Path:
    """Make a reranker with random weights from a fixed seed."""
    from tests.retrievers.models import cross_encoder

    return cross_encoder(folder / "reranker")


def _in_a_folder(case: Case) -> Values:
    with tempfile.TemporaryDirectory() as folder:
        return case(Path(folder))


def _write(file: Path, recorded: dict[str, Values]) -> None:
    rows = (f"{json.dumps(k)}: {json.dumps(v, sort_keys=True)}" for k, v in recorded.items())
    file.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
