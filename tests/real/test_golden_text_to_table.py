"""Header and cell scores against Wu et al.'s scripts; P-Score's replies against Struc-Bench's."""

import gzip
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from target_bench.models.judges import p_score, parse_reply
from target_bench.tables.cell_texts import convert_decimal_commas
from target_bench.tables.compared_tables import ComparedTables
from target_bench.tables.header_cell_scores import (
    Headers,
    Similarity,
    compute_chrf,
    header_cell_scores,
    is_empty,
    parse_paper_format,
)
from target_bench.tables.table_metrics import DEFINITIONS
from tests.real.data import DATA
from tests.real.golden import TOLERANCE, Case, cases, needs_golden

pytestmark = [
    needs_golden,
    pytest.mark.skipif(
        not (DATA / "rotowire").is_dir(), reason=f"no RotoWire in {DATA} (set TARGET_BENCH_DATA)"
    ),
]

FILE, JUDGE = "text_to_table_prf.json", "pscore_parse.json"
MEASURES: dict[str, Similarity] = {"E": "exact", "chrf": "chrf"}
NEWER = "chrf_sacrebleu_2.6"
_SEPARATOR = re.compile(r"^[|:\-\s]*-[|:\-\s]*$")


@cache
def _json(name: str) -> Any:
    content = (DATA / name).read_bytes()
    return json.loads(gzip.decompress(content) if name.endswith(".gz") else content)


@cache
def _lines(name: str) -> list[str]:
    return gzip.decompress((DATA / name).read_bytes()).decode().split("\n")


def _converted(text: str, fields: bool = False) -> str:
    """Markdown in the format of the paper, as the vectors were made."""
    lines = [line for line in text.split("\n") if not _SEPARATOR.match(line)]
    first = [cell.strip() for cell in lines[0].strip().strip("|").split("|")] if lines else []
    return " <NEWLINE> ".join(lines[1:] if fields and first == ["Field", "Value"] else lines)


def _headers(names: list[str]) -> Headers:
    return Headers("row" in names, "col" in names)


def _table_by_name(text: str, name: str) -> str:
    """The table of a name: what follows the line ``name:`` up to the next title."""
    lines: list[str] = []
    inside = False
    for line in map(str.strip, text.replace(" <NEWLINE> ", "\n").strip().splitlines()):
        if inside and line.endswith(":"):
            break
        if inside:
            lines.append(line)
        inside = inside or line == f"{name}:"
    return " <NEWLINE> ".join(lines)


def _texts(case: Case) -> tuple[str, str]:
    """The prediction and the gold of a case."""
    given = case["input"]
    if "pairs" in given:
        gold, prediction = _json(given["pairs"])[given["index"]]
        fields = "wikitabletext" in given["pairs"]
        return _converted(prediction, fields), _converted(gold, fields)
    if "tables" in given:
        record = _json(given["tables"])[given["index"]]
        changed = record[f"pertubation{given['perturbation']}"]
        return _converted(changed.strip()), _converted(record["original"].strip())
    if "file" in given:
        lines = _lines(given["file"])
        places = (given["prediction_index"], given["gold_index"])
        prediction, gold = (_table_by_name(lines[i].strip(), given["name"]) for i in places)
        return prediction, gold
    return given["prediction"], given["gold"]


@cache
def _grid(text: str) -> list[list[str]]:
    return parse_paper_format(text)


def _score(prediction: str, gold: str, case: Case, similarity: Similarity) -> Any:
    tables = _grid(prediction.strip()), _grid(gold.strip())
    return header_cell_scores(*tables, similarity, _headers(case["input"]["headers"]))


KINDS = ("rotowire_pair", "wikitabletext_pair", "tabxbench_pair", "line_pair", "text_pair")


@pytest.mark.parametrize("similarity", MEASURES)
@pytest.mark.parametrize("kind", KINDS)
def test_pairs(kind: str, similarity: str) -> None:
    """Where the official script or sacreBLEU 2.0 raises, the value of sacreBLEU 2.6, or 0."""
    chosen: list[Case] = [parameters.values[0] for parameters in cases(FILE, kind)]
    assert chosen
    for case in chosen:
        score = _score(*_texts(case), case, MEASURES[similarity])
        if case["expected"] == "skipped":
            assert score is None
            continue
        expected: Mapping[str, Any] = case["expected"][similarity]
        if "error" in expected:
            expected = case["expected"].get(NEWER, {}) if similarity == "chrf" else {}
            assert expected or score["cells"] == (0, 0, 0)
        for part, values in expected.items():
            assert tuple(score[part]) == pytest.approx(values, abs=TOLERANCE), case["id"]


_LINE_END = re.compile(r"\s*(?:<NEWLINE>|\n)\s*")


_LONG_DASHES = re.compile(r"[|\s]*(?:-{3,}[|\s]*)+")


def _as_read(text: str, headers: Headers) -> str:
    """The text in which the official script reads what is read of an answer.

    ``<NEWLINE>`` ends a line without blanks around it too; a line of dashes above or below the
    header is a rule and no row, and so are later ones of three dashes a cell; a table without a
    filled cell is none; decimal commas are points where columns have names.
    """
    lines = _LINE_END.split(text.strip())
    is_rule = [_SEPARATOR.match(line) is not None for line in lines]
    header = int(is_rule[0])
    is_ruled = any(is_rule[: header + 2])
    rows = [
        line
        for place, line in enumerate(lines)
        if not is_rule[place]
        or not (place in (header - 1, header + 1) or (is_ruled and _LONG_DASHES.fullmatch(line)))
    ]
    grid = parse_paper_format("\n".join(rows))
    if not any(cell for row in grid for cell in row):
        return ""
    pointed = convert_decimal_commas(grid) if headers.column else None
    rows = rows if pointed is None else [f"| {' | '.join(row)} |" for row in pointed]
    return " <NEWLINE> ".join(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_as_answers_are_read(kind: str) -> None:
    """Scores of answers are those of the official script, of the texts as answers are read."""
    n_same = 0
    for case in (parameters.values[0] for parameters in cases(FILE, kind)):
        texts = _texts(case)
        expected = case["expected"] if case["expected"] == "skipped" else case["expected"]["E"]
        if "error" in expected or "```" in texts[0]:
            continue
        headers = _headers(case["input"]["headers"])
        prediction, gold = (_as_read(text, headers) for text in texts)
        if list(map(_grid, texts)) == list(map(_grid, (prediction, gold))):
            n_same += 1  # then the official script reads both as they are
        else:
            expected = _score(prediction, gold, case, "exact") or "skipped"
        pairs = ComparedTables(*texts, "text", headers=headers).pairs("exact")
        if expected == "skipped":
            assert pairs == [], case["id"]
            continue
        for part, values in expected.items():
            assert tuple(pairs[0][1][part]) == pytest.approx(values, abs=TOLERANCE), case["id"]
    assert n_same > 0


@pytest.mark.parametrize("case", cases(FILE, "parse"))
def test_parse(case: Case) -> None:
    text, expected = case["input"]["text"], case["expected"]
    if case["input"]["strict"] and expected["table"] is None:
        assert _is_ragged(text)
        return
    rows = parse_paper_format(text)
    assert rows == expected["table"]
    for names, empty in expected.get("empty", {}).items():
        assert is_empty(rows, _headers(names.split("_"))) == empty


def _is_ragged(text: str) -> bool:
    """Whether rows have different lengths, as the official script counts wrong formats."""
    lines = text.replace(" <NEWLINE> ", "\n").strip().splitlines()
    return len({line.strip().strip("|").count("|") for line in lines}) > 1


@pytest.mark.parametrize("case", cases(FILE, "extract_by_name"))
def test_table_by_name(case: Case) -> None:
    assert _table_by_name(case["input"]["text"], case["input"]["name"]) == case["expected"]


@pytest.mark.parametrize("case", cases(FILE, "chrf"))
def test_character_f(case: Case) -> None:
    expected = case["expected"]
    theirs = expected["sacrebleu_2.6"] if isinstance(expected, dict) else expected
    ours = compute_chrf([case["input"]["prediction"]], [case["input"]["gold"]]).item()
    assert ours == pytest.approx(theirs, abs=TOLERANCE)


def _indices(case: Case) -> list[str]:
    """The pairs of a corpus: those listed, or all, perhaps of golds with a word in their corner."""
    given = case["input"]
    if not isinstance(given["indices"], str):
        return list(given["indices"])
    _, _, corner = given["indices"].partition("corner cell is ")
    pairs = _json(given["pairs"])
    return [
        i for i, (gold, _) in pairs.items() if not corner or _grid(_converted(gold))[0][0] == corner
    ]


@pytest.mark.parametrize("case", cases(FILE, "corpus"))
def test_corpus(case: Case) -> None:
    for name, similarity in MEASURES.items():
        expected = case["expected"].get(name)
        if expected is None:
            continue
        pairs = [case | {"input": case["input"] | {"index": i}} for i in _indices(case)]
        scores = [_score(*_texts(pair), pair, similarity) for pair in pairs]
        counted = [score for score in scores if score is not None]
        assert len(counted) == expected["n"]
        for part in (part for part in expected if part not in ("n", "printed")):
            means = np.mean([score[part] for score in counted], axis=0)
            assert means == pytest.approx(expected[part], abs=TOLERANCE)


@pytest.mark.parametrize(
    ("model", "corpus", "n_apart", "wrong"),
    [
        ("gpt", "rotowire", 250, 0),
        ("gemini", "rotowire", 0, 0),
        ("llama", "rotowire", 0, 16),
        ("gpt", "wikitabletext", 0, 1),
        ("gemini", "wikitabletext", 0, 3),
        ("llama", "wikitabletext", 0, 7),
    ],
)
def test_wrong_formats(model: str, corpus: str, n_apart: int, wrong: int) -> None:
    """Those of the official script; it takes a stray code fence, or a note below, for a row."""
    fields = corpus == "wikitabletext"
    headers = Headers(column=not fields)
    apart, n_wrong = [], 0
    for pair in _json(f"rotowire/model_outputs/{model}.{corpus}.pairs.json.gz").values():
        gold, prediction = (_converted(text, fields).strip() for text in pair)
        ragged = ComparedTables(prediction, gold, "text", headers=headers).ragged_partners
        n_wrong += sum(ragged)
        if ragged and ragged != [_is_ragged(prediction)]:
            apart.append(prediction)
    assert (len(apart), n_wrong) == (n_apart, wrong)
    assert all("```" in prediction or "(Note: " in prediction for prediction in apart)


def test_metrics_of_the_text_are_those_of_the_packages() -> None:
    """BLEU and ROUGE-L of 728 answers, in one line each, as Struc-Bench's scripts read them."""
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu import corpus_bleu

    texts = _json("rotowire/model_outputs/gpt.rotowire.raw.json.gz")
    reports, golds = (
        _lines(f"rotowire/rotowire.test.{kind}.gz")[:728] for kind in ("text", "data")
    )
    answers = [
        " <NEWLINE> ".join(map(str.strip, texts[report].strip().splitlines())) for report in reports
    ]
    compared = [ComparedTables(*pair, "text") for pair in zip(answers, golds, strict=True)]
    bleu, rouge = (DEFINITIONS[f"{name}[tables]"]() for name in ("sacrebleu", "rougeL"))
    rows = bleu.statistics(compared)
    theirs = corpus_bleu(answers, [golds]).score
    assert float(bleu.value(rows.sum(axis=0))) == pytest.approx(theirs, abs=TOLERANCE)
    scorer = RougeScorer(["rougeL"])
    official = [
        scorer.score(gold, text)["rougeL"].fmeasure
        for text, gold in zip(answers, golds, strict=True)
    ]
    assert rouge.per_query(rouge.statistics(compared)) == pytest.approx(official, abs=TOLERANCE)


@pytest.mark.parametrize("case", cases(JUDGE, "parse"))
def test_reply(case: Case) -> None:
    assert parse_reply(case["input"]["response"]) == case["expected"]["parsed"]


@pytest.mark.parametrize("kind", ["aggregate", "aggregate_parsed"])
def test_p_score(kind: str) -> None:
    """Where the official scripts divide by 0 or stop at a reply, nothing counts or it does not."""
    for parameters in cases(JUDGE, kind):
        case: Case = parameters.values[0]
        given = case["input"]
        replies = given.get("parsed") or [parse_reply(text) for text in given["responses"]]
        score = p_score(replies)
        for expected in case["expected"].values():
            if expected.get("error") == "ZeroDivisionError":
                assert score.counted == 0
            elif "error" not in expected:
                assert score.counted == expected["count"]
                assert score.content == pytest.approx(expected["content"], abs=TOLERANCE)
                assert score.structure == pytest.approx(expected["structure"], abs=TOLERANCE)
