"""Examples in docstrings run and print what stands there."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

from tests.builders import ROOT

FILES = [
    file
    for file in sorted((ROOT / "target_bench").rglob("*.py"))
    if ">>> " in file.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_examples_of_docstrings(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    module = import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))
    result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed, capfd.readouterr().out
