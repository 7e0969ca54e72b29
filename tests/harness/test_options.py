"""Options are declared once: command line, YAML, Python and the manifest agree about them."""

import inspect
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import target_bench
from target_bench.core.errors import ConfigError
from target_bench.core.run_config import OPTIONS, RunConfig
from target_bench.harness.evaluate import evaluate
from target_bench.harness.sweeps.grid import read_cells
from target_bench.harness.yaml_file import YamlFile
from tests.target import TARGET

NEW_FIELD = """
    colour: Annotated[str, Option("The colour of the run.", "Data")] = "red"
    out: Annotated["""

USE = """
import json, sys
from pathlib import Path
from target_bench import evaluate
from target_bench.cli import main

Path("run.yaml").write_text("corpora: mini\\nretrievers: random\\ncolour: green\\n")
Path("sweep.yaml").write_text("corpora: mini\\nretrievers: random\\ncolour: grey\\nout: swept\\n")
evaluate("random", "mini", colour="blue", out="python")
for arguments in (
    ["run", "--help"],
    ["run", "mini", "--retriever", "random", "--colour", "black", "--out", "line"],
    ["run", "--config", "run.yaml", "--out", "file"],
    ["sweep", "sweep.yaml"],
):
    sys.argv = ["target-bench", *arguments]
    try:
        main()
    except SystemExit as end:
        assert not end.code, arguments
colours = {}
for folder in ("python", "line", "file", "swept"):
    manifest = json.loads(next(Path(folder).glob("*/manifest.json")).read_text())
    colours[folder] = manifest["command"]["options"]["colour"]
print(json.dumps(colours))
"""


def test_one_field_is_all_that_an_option_needs(tmp_path: Path) -> None:
    package = Path(target_bench.__file__).parent
    shutil.copytree(
        package, tmp_path / "target_bench", ignore=shutil.ignore_patterns("__pycache__")
    )
    model = tmp_path / "target_bench/core/run_config.py"
    text = model.read_text(encoding="utf-8")
    model.write_text(text.replace("\n    out: Annotated[", NEW_FIELD), encoding="utf-8")
    (tmp_path / "use.py").write_text(USE, encoding="utf-8")
    command = [sys.executable, "use.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "The colour of the run." in ran.stdout
    assert json.loads(ran.stdout.splitlines()[-1]) == {
        "python": "blue",
        "line": "black",
        "file": "green",
        "swept": "grey",
    }


def test_python_documents_the_options() -> None:
    known = set(inspect.signature(evaluate).parameters)
    assert known > OPTIONS.keys() - {"corpora", "tasks", "retrievers", "generators"}
    for name, option in OPTIONS.items():
        assert f"{name}: {option.help}" in str(RunConfig.__doc__)
        assert option.help.endswith(".")
    assert f"limit: {OPTIONS['limit'].help}" in str(evaluate.__doc__)


def test_a_sweep_has_the_defaults_of_a_run(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("corpora: mini\nretrievers: bm25\n", encoding="utf-8")
    (cell,) = read_cells(YamlFile.read(file))
    assert cell.config == RunConfig(
        corpora="mini",
        tasks="retrieval",
        retrievers="bm25",
        split="test",
        out=Path("runs").resolve(),
    )


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("top_k", 5, (5,)),
        ("top_k", "10, 1", (1, 10)),
        ("top_k", ["1,5", "10"], (1, 5, 10)),
        ("top_k", [5, np.int64(1), 5], (1, 5)),
        ("distractors", "ottqa:n=3", ("ottqa:n=3",)),
        ("limit", np.int32(4), 4),
    ],
)
def test_what_is_read(name: str, value: Any, read: Any) -> None:
    option = getattr(RunConfig(**{name: value}), name)
    assert option == read
    assert type(option) is type(read)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("limit", value) for value in (True, 2.0, "3")),
        ("latency", -1),
        *(("top_k", value) for value in ([], [1, None], "1;5")),
        ("split", 3),
        ("distractors", [1]),
        ("table_format", "xml"),
        ("schema_scope", None),
        ("structured", 1),
    ],
)
def test_invalid_values(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"^{name}"):
        RunConfig(**{name: value})


@given(
    st.lists(st.integers(1, 10**6), min_size=1),
    st.none() | st.integers(1),
    st.lists(st.text()),
)
def test_reading_twice_changes_nothing(
    top_k: list[int], limit: int | None, distractors: list[str]
) -> None:
    first = RunConfig(top_k=tuple(top_k), limit=limit, distractors=tuple(distractors))
    assert first.replace_options() == first
    assert list(first.top_k) == sorted(set(top_k))
    assert RunConfig(**first.run_json()) == first


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lmit": 5}, "unknown option 'lmit'. Did you mean limit"),
        ({"tables": 11}, "tables=11: a prompt holds no more tables than are retrieved"),
    ],
)
def test_invalid_keywords(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    target = TARGET(("qa", "mini"), out=tmp_path)
    with pytest.raises(ConfigError) as error:
        target.run("oracle", **given)
    assert message in str(error.value)
    if "tables" not in given:
        with pytest.raises(ConfigError):
            target.score(**given)
    assert not list(tmp_path.iterdir())


def test_retrieval_writes_no_prompts(tmp_path: Path) -> None:
    tasks = ["retrieval", "table-to-text"]  # which is given its tables
    results = evaluate(
        "bm25", "mini", task=tasks, generator="gold", tables=20, limit=2, out=tmp_path
    )
    assert [result.run.is_scored for result in results] == [True, True]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"generators": ["gold"]}, "generators: evaluate has no such argument; pass generator="),
        ({"tasks": ["qa"]}, "tasks: evaluate has no such argument; pass task="),
        ({"task": []}, r"task=\[\]: expected a task"),
        ({"corpus": []}, r"corpus=\[\]: expected a corpus"),
    ],
)
def test_python_takes_no_name_of_a_list(
    tmp_path: Path, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        evaluate("oracle", **{"corpus": "mini", "out": tmp_path, **given})
