"""What the cells of a sweep do once for all."""

from collections import Counter
from pathlib import Path

import pytest

from target_bench.harness.sweeps import Local, Sweep
from tests.builders import Recorder, ottqa_question, ottqa_table, write_ottqa

ENCODER = """
import json
import zlib

import numpy
from target_bench.core.vectors import Encoder


class Counting(Encoder):
    def encode(self, texts, kind="query"):
        with open("encoded", "a", encoding="utf-8") as file:
            file.writelines(json.dumps([kind, text]) + "\\n" for text in texts)
        seeds = [zlib.crc32(text.encode()) for text in texts]
        vectors = [numpy.random.default_rng(seed).random(8) for seed in seeds]
        return numpy.array(vectors, dtype=numpy.float32)

    def revision(self):
        return "1"
"""

SWEEP = """
corpora: {name: mini, limit: 20}
distractors: {name: ottqa, n: [0, 20, 50]}
retrievers:
  - name: dense
    encoder: "encoder.py:Counting"
    fields: [[title, header, rows], [header, rows]]
    rows: [0, 2]
    format: [markdown, json]
"""


def test_no_text_is_encoded_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight ways to write a table, three corpora: texts that do not change are encoded once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TARGET_BENCH_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "cache"))
    tables = [ottqa_table(f"t{n}") for n in range(60)]
    write_ottqa(tmp_path / "data" / "ottqa", tables, [ottqa_question("q", "t0")])
    (tmp_path / "encoder.py").write_text(ENCODER, encoding="utf-8")
    (tmp_path / "sweep.yaml").write_text(SWEEP, encoding="utf-8")
    outcomes = Sweep.load("sweep.yaml", observer=Recorder()).run(Local(1), Recorder())
    assert [outcome.error for outcome in outcomes] == [None] * 24
    encoded = Counter((tmp_path / "encoded").read_text(encoding="utf-8").splitlines())
    assert len(encoded) > 8 * 100
    assert set(encoded.values()) == {1}
