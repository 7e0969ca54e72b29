"""The tree is what docs/architecture.md says it is."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "target_bench"
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _rooms_of_the_table() -> list[str]:
    return re.findall(r"^\| `(\w+)/` \|", TEXT, re.MULTILINE)


def _layers() -> list[list[str]]:
    contracts = PYPROJECT["tool"]["importlinter"]["contracts"]
    (layers,) = (each["layers"] for each in contracts if each["type"] == "layers")
    return [layer.split(" | ") for layer in layers]


def _modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def test_the_table_lists_the_rooms_in_the_order_of_the_layers() -> None:
    folders = {p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    rooms = _rooms_of_the_table()
    assert set(rooms) == folders
    assert rooms == [room for layer in _layers() for room in layer]


def test_nothing_is_loose_at_the_root() -> None:
    assert sorted(p.name for p in PACKAGE.glob("*.py")) == ["__init__.py", "__main__.py"]


def test_what_the_document_names_is_there() -> None:
    for room, text in re.findall(r"^\| `(\w+)/` \| (.*) \|$", TEXT, re.MULTILINE):
        for name in re.findall(r"`([a-z_]+)(?=/?`)", text):
            assert (PACKAGE / room / name).is_dir() or (PACKAGE / room / f"{name}.py").is_file(), (
                f"{room}: {name}"
            )


def test_paths_and_functions_that_the_document_names_are_there() -> None:
    text = TEXT.partition("## The rooms")[0]
    paths = set(re.findall(r"`([a-z_]+/[\w/]+(?:\.py)?)`", text))
    assert len(paths) > 30
    assert [path for path in sorted(paths) if not (PACKAGE / path).exists()] == []
    named = re.findall(r"`(?:\w+\.)?(\w+)`\s\(`([a-z_/]+\.py)`\)", text)
    assert len(named) > 20
    for name, path in named:
        text = (PACKAGE / path).read_text(encoding="utf-8")
        assert re.search(rf"^ *(?:def|class) {name}\b", text, re.MULTILINE), (name, path)


def test_contracts_are_the_two_of_the_document() -> None:
    contracts = PYPROJECT["tool"]["importlinter"]["contracts"]
    assert [each["type"] for each in contracts] == ["layers", "protected"]
    assert contracts[0]["exhaustive"] is True


PRINTED_BY = {
    "target_bench.reporting.rows": "target_bench.reporting.layouts",
}
"""Modules of a value that prints itself -> its layout, imported where it is printed alone."""


def test_no_circle() -> None:
    """No module needs one that needs it: types alone, and how a value is printed, are no need."""
    grimp = pytest.importorskip("grimp")
    graph = grimp.build_graph("target_bench", cache_dir=None, exclude_type_checking_imports=True)
    left = {m: set(graph.find_modules_directly_imported_by(m)) for m in graph.modules}
    for module, layout in PRINTED_BY.items():
        source = PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py").read_text("utf-8")
        assert not re.search(rf"^from {re.escape(layout)} ", source, re.MULTILINE), module
        left[module].remove(layout)
    while free := [module for module, imported in left.items() if not imported & left.keys()]:
        for module in free:
            del left[module]
    assert not left, f"modules import each other in a circle, or one that does: {sorted(left)}"


def test_tasks_are_named_in_their_own_files_only() -> None:
    """A new task is one file: no other module asks for one by its name."""
    names = re.compile(r"question_answering|fact_verification|text_to_sql|\"retrieval\"")
    rooms = ("tasks/", "corpora/", "core/built_in.py")
    offenders = [
        f"{path.relative_to(PACKAGE)}: {line.strip()}"
        for path in _modules()
        if not path.relative_to(PACKAGE).as_posix().startswith(rooms)
        for line in path.read_text(encoding="utf-8").splitlines()
        if names.search(line)
    ]
    assert offenders == []
