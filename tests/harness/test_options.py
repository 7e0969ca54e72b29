"""Options are declared once: command line, YAML, sweeps and Python agree about them."""

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command

from target_bench.cli.main import app
from target_bench.core.errors import ConfigError
from target_bench.core.settings import option_info
from target_bench.harness.evaluate import evaluate
from target_bench.harness.options import (
    OPTIONS,
    PROMPT_OPTIONS,
    RUN_OPTIONS,
    Keywords,
    Options,
    flag_of,
    in_sweeps,
)
from target_bench.harness.sweeps.grid import cells
from target_bench.harness.yaml_file import YamlFile
from tests.target import TARGET


def test_keywords_of_python_are_the_options() -> None:
    """Static type checkers see the options that there are; split and top_k are arguments."""
    known = RUN_OPTIONS | PROMPT_OPTIONS
    assert set(Keywords.__annotations__) == known - {"split", "top_k"}
    for function in (evaluate, TARGET.run):
        defaults = inspect.signature(function).parameters
        assert defaults["split"].default == Options().split
        assert defaults["top_k"].default == Options().top_k


def test_flags_of_the_command_line_are_the_options() -> None:
    """With their defaults and the words of their help."""
    command: Any = get_command(app).commands["run"]  # type: ignore[attr-defined]
    flags = {each.name: each for each in command.params}
    for name, each in OPTIONS.items():
        option = flags[name]
        assert "/".join([*option.opts, *option.secondary_opts]) == flag_of(name)
        assert option.help == option_info(each).help
        assert option.help.endswith(".")
        assert name in PROMPT_OPTIONS or f"\n    {name}: " in str(inspect.getdoc(Options))
        if each.default not in (None, ()) and not isinstance(each.default, tuple):
            assert option.default == each.default


def test_entries_of_sweeps_are_the_options(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("corpora: mini\nretrievers: bm25\n", encoding="utf-8")
    (cell,) = cells(YamlFile.read(file))
    runs = Path("runs").resolve()
    named = {each.name for axis in (True, False) for _, each in in_sweeps(axis)}
    assert named == (RUN_OPTIONS | PROMPT_OPTIONS) - {"distractors"}
    assert cell.options == Options(split="test", out=runs)


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
    option = getattr(Options(**{name: value}), name)
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
        Options(**{name: value})


@given(
    st.lists(st.integers(1, 10**6), min_size=1),
    st.none() | st.integers(1),
    st.lists(st.text()),
)
def test_reading_twice_changes_nothing(
    top_k: list[int], limit: int | None, distractors: list[str]
) -> None:
    first = Options(top_k=tuple(top_k), limit=limit, distractors=tuple(distractors))
    assert replace(first) == first
    assert list(first.top_k) == sorted(set(top_k))
    assert Options(**first.run_json()) == first


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
