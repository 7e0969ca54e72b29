"""What a sweep's file may say."""

from pathlib import Path

import pytest

from target_bench.core.errors import ConfigError
from target_bench.harness.sweeps.config import SweepConfig
from target_bench.harness.sweeps.sweep_file import SweepFile

LEAST = "corpora: mini\nretrievers: bm25\n"


def _config(folder: Path, text: str) -> SweepConfig:
    path = folder / "s.yaml"
    path.write_text(text, encoding="utf-8")
    return SweepConfig.of(SweepFile.read(path))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("retreivers: [lsa]", "s.yaml: retreivers: unknown key 'retreivers'. Did you mean retr"),
        ("top_k: [5, 0]", "s.yaml: top_k=0: a cutoff is a whole number from 1"),
        ("top_k: [true]", "s.yaml: top_k=True: a cutoff is a whole number from 1"),
        ("top_k: []", "s.yaml: top_k is empty: name at least one cutoff"),
        ("seeds: [-1]", "s.yaml: seeds[0]: "),
        ("latency: -1", "s.yaml: latency=-1: expected a whole number from 0"),
        ("latency: true", "s.yaml: latency=True: expected a whole number from 0"),
        ("structured: 1", "s.yaml: structured=1: expected true or false"),
        ("tables: []", "s.yaml: tables: the list is empty"),
        ("memory: much", "s.yaml: memory='much': expected an amount such as 500MB"),
        (
            "generators: {name: x, gpus: .inf}",
            "s.yaml: generators.gpus: input should be a finite",
        ),
        ("name: ../x", "s.yaml: name: string should match pattern"),
        ("on_error: go", "s.yaml: on_error='go': expected stop or record"),
        ("scoring: {labels: target}", "s.yaml: scoring: there is no key scoring; its entries"),
        ("corpora: [{name: mini, spilts: dev}]", "corpora is set twice"),
        ("distractors:\n  - name: ottqa\n    m: 3", "s.yaml: distractors[0].m: unknown key"),
        ("distractors:\n  - [{n: 3}]", "s.yaml: distractors[0][0]: the entry name is missing"),
        ("generators:\n  - {label: x}", "s.yaml: generators[0]: the entry name is missing"),
        ("table_formats: [markdwon]", "s.yaml: table_formats[0]='markdwon': expected text or"),
    ],
)
def test_what_cannot_be(tmp_path: Path, more: str, told: str) -> None:
    with pytest.raises(ConfigError) as error:
        _config(tmp_path, LEAST + more + "\n")
    assert told in str(error.value)
