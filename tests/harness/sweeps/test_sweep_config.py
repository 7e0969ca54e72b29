"""What a sweep's file may say."""

from pathlib import Path

import pytest

from target_bench.core.errors import ConfigError
from target_bench.harness.sweeps.config import SweepConfig
from target_bench.harness.sweeps.yaml_lines import Document

LEAST = "corpora: mini\nretrievers: bm25\n"


def _config(folder: Path, text: str) -> SweepConfig:
    path = folder / "s.yaml"
    path.write_text(text, encoding="utf-8")
    return SweepConfig.of(Document.read(path))


def test_least(tmp_path: Path) -> None:
    """A single value stands for a list of one."""
    config = _config(tmp_path, LEAST)
    assert [entry.name for entry in config.corpora] == ["mini"]
    assert [entry.name for entry in config.retrievers] == ["bm25"]
    assert (config.chosen["top_k"], config.distractors, config.generators) == ((1, 5, 10), [[]], [])
    assert config.alternatives["table_formats"] == ["markdown"]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("retreivers: [lsa]", "s.yaml:3: retreivers: unknown key 'retreivers'. Did you mean retr"),
        ("top_k: [5, 0]", "s.yaml:3: top_k=0: a cutoff is a whole number from 1"),
        ("top_k: [true]", "s.yaml:3: top_k=True: a cutoff is a whole number from 1"),
        ("top_k: []", "s.yaml:3: top_k is empty: name at least one cutoff"),
        ("seeds: [-1]", "s.yaml:3: seeds[0]: "),
        ("latency: -1", "s.yaml:3: latency=-1: expected a whole number from 0"),
        ("latency: true", "s.yaml:3: latency=True: expected a whole number from 0"),
        ("structured: 1", "s.yaml:3: structured=1: expected true or false"),
        ("tables: []", "s.yaml:3: tables: the list is empty"),
        ("memory: much", "s.yaml:3: memory='much': expected an amount such as 500MB"),
        (
            "generators: {name: x, gpus: .inf}",
            "s.yaml:3: generators.gpus: input should be a finite",
        ),
        ("name: ../x", "s.yaml:3: name: string should match pattern"),
        ("on_error: go", "s.yaml:3: on_error='go': expected stop or record"),
        ("scoring: {labels: target}", "s.yaml:3: scoring: there is no key scoring; its entries"),
        ("corpora: [{name: mini, spilts: dev}]", "is set in line 1"),
        ("distractors:\n  - name: ottqa\n    m: 3", "s.yaml:5: distractors[0].m: unknown key"),
        ("distractors:\n  - [{n: 3}]", "s.yaml:4: distractors[0][0]: the entry name is missing"),
        ("generators:\n  - {label: x}", "s.yaml:4: generators[0]: the entry name is missing"),
        ("table_formats: [markdwon]", "s.yaml:3: table_formats[0]='markdwon': expected text or"),
    ],
)
def test_what_cannot_be(tmp_path: Path, more: str, told: str) -> None:
    with pytest.raises(ConfigError) as error:
        _config(tmp_path, LEAST + more + "\n")
    assert told in str(error.value)


def test_all_problems_are_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        _config(tmp_path, "corpora: [{nmae: mini}]\ntop_k: [0]\nlimit: a\n")
    told = str(error.value).splitlines()
    assert [line.rpartition("s.yaml")[2].split(":")[1] for line in told] == ["1", "1", "2", "3"]
    assert "s.yaml:1: corpora[0]: the entry name is missing" in str(error.value)


def test_no_mapping(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"s.yaml:1: expected entries such as corpora"):
        _config(tmp_path, "- mini\n")
