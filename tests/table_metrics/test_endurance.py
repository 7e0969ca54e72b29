"""Tables 3 and 4 of TabXEval, and its scores of LLaMA's texts (Table 5)."""

import gzip
import json
import os
import pickle
from pathlib import Path

import pytest
from sacrebleu import sentence_chrf

from benchmarks.table_metrics import backbones, endurance
from benchmarks.table_metrics.table2 import METRICS
from target_bench.tables.answer_tables import AnswerTable
from target_bench.tables.comparison import compare_tables

CHRF = sentence_chrf("new jersey", ["new york"]).score / 100
CITIES = [["city", "people", "mayor"], ["Oslo", "709", "A"], ["Bern", "134", ""], ["Rome", "2", ""]]


def test_shares_of_rows_columns_and_cells() -> None:
    seen = [["city", "people", "uid"], ["Oslo", "710", "454"], ["Bern", "134", ""]]
    compute_shares = endurance.compute_shares(compare_tables(CITIES, seen))
    assert compute_shares == pytest.approx(
        {
            "Row MI": 100 / 3,
            "Row EM": 100 / 3,  # Bern: where both are empty nothing differs
            "Col MI": 100 / 4,
            "Col EI": 100 / 4,
            "Col EM": 0,
            "Partial Num": 100 / 12,
        }
    )
    same = endurance.compute_shares(compare_tables(CITIES, CITIES))
    assert same == {"Row EM": 100, "Col EM": 100}
    assert endurance.compute_shares(compare_tables([], [])) == {}


def test_pairs_without_a_table_are_empty_ones(tmp_path: Path) -> None:
    file = tmp_path / "gpt.tanq.pairs.json.gz"
    file.write_bytes(gzip.compress(json.dumps({"0": ["a | b\n1 | 2", "I cannot."]}).encode()))
    means = endurance.measure_tables(endurance.read_pairs(file))
    assert means["pairs"] == 1
    assert means["Row"] == {"MI": 100, "EI": 0, "EM": 0}
    assert means["tabxeval"] == means["tabxeval[paper]"] == 0
    assert means["Partial"] == dict.fromkeys([*endurance.TYPES, endurance.TWO_TYPES], 0)


def test_an_amount_of_time_is_a_time_and_beside_a_number_has_two_types() -> None:
    reference = [["film", "length", "genre"], ["A", "90 minute", "drama"]]
    prediction = [["film", "length", "genre"], ["A", "91 minutes", "drama, comedy"]]
    shares = endurance.compute_shares(compare_tables(reference, prediction))
    assert shares["Partial Time"] == shares["Partial Two types"] == pytest.approx(100 / 3)


def test_aligned_tables_of_a_release(tmp_path: Path) -> None:
    """A row is missing if all its cells are; an empty line ends the table, as the authors read."""
    aligned = """| film/film | length/- | genre/genre |
| --- | --- | --- |
| A/A | 90 minute/- | drama/drama, comedy |
| B/- | 80/- | horror/- |

a remark | of the model"""
    folder = tmp_path / "EVALUATION_OF_MODELS" / "gpt" / "tanq"
    folder.mkdir(parents=True)
    records = [{"alignment": aligned}, {"alignment": "I cannot."}]
    (folder / "tabscore.pklstep1").write_bytes(pickle.dumps(records))
    means = endurance.measure_alignments(tmp_path, "tanq", "gpt")
    assert means["pairs"] == 1  # a text without a table is left out
    assert means["Row"] == {"MI": 50, "EI": 0, "EM": 0}
    assert means["Col"] == pytest.approx({"MI": 100 / 3, "EI": 0, "EM": 0})
    assert means["Partial"]["Two types"] == pytest.approx(100 / 6)
    assert endurance.measure_alignments(tmp_path, "tanq", "llama")["pairs"] == 0


def test_pairs_of_biographies(tmp_path: Path) -> None:
    folder = tmp_path / "EVALUATION_OF_MODELS" / "gemini" / "wikibio"
    folder.mkdir(parents=True)
    (folder / "top_tables_wiki.json").write_text(
        json.dumps([{"7": "| name | ann | <NEWLINE> | a | b |"}])
    )
    file = tmp_path / "wikibio_4o_output.pkl"
    file.write_bytes(pickle.dumps([{"7": "```text\n| name | ann | lee | <NEWLINE> | alone |```"}]))
    ((reference, prediction),) = endurance.read_biographies(tmp_path, file)
    assert reference.rows == (("Field", "Value"), ("name", "ann"), ("a", "b"))
    assert prediction.rows == (("Field", "Value"), ("name", "ann | lee"))


@pytest.mark.parametrize(
    ("metric", "similarity"),
    [("EM of cells", 0), ("ROUGE-L of cells", 0.5), ("chrF of cells", CHRF)],
)
def test_cells_are_compared_wherever_they_stand(metric: str, similarity: float) -> None:
    """Three cells of either side are equal, and ``new jersey`` is a bit like ``new york``."""
    reference = AnswerTable("", (("a", "b"), ("new york", "x")))
    answer = AnswerTable("", (("b", "a"), ("new jersey", "new york")))
    precision, recall = (3 + similarity) / 4, 3 / 4
    f1 = 2 * precision * recall / (precision + recall)
    assert METRICS[metric](reference, answer) == pytest.approx(f1)
    assert METRICS[metric](reference, reference) == 1
    assert METRICS[metric](reference, AnswerTable("", ())) == 0


def test_no_code_of_a_pickle_runs(tmp_path: Path) -> None:
    class Harmful:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "made"),)

    file = tmp_path / "outputs.pkl"
    file.write_bytes(pickle.dumps([{"alignment": "| a/a |", "frame": Harmful()}]))
    (record,) = backbones.read_plain_pickle(file)
    assert record["alignment"] == "| a/a |"
    assert not (tmp_path / "made").exists()
