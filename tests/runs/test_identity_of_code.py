"""What the code of this package says of its plug-ins: edited, reworded and moved in copies."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import target_bench

PACKAGE = Path(target_bench.__file__).parent

HASHES = """
import json
from target_bench.core import registry
from target_bench.core.built_in import BUILT_IN
from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.identity import code_hash
from target_bench.core.registry import class_name

found = {}
for kind in ("retriever", "encoder", "index", "generator", "corpus"):
    for name in BUILT_IN[kind]:
        try:
            cls = registry.resolve(kind, name)
        except (ConfigError, MissingExtraError):
            continue
        found[f"{kind} {name}"] = [class_name(cls), code_hash(cls)]
print(json.dumps(found))
"""


def _hashes(place: Path) -> dict[str, list[str]]:
    """Of every built-in plug-in that can be imported here: name of the class, hash of its code."""
    done = subprocess.run(
        [sys.executable, "-c", HASHES],
        capture_output=True,
        text=True,
        check=False,
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(place)},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    assert len(found) > 20
    return found


@pytest.fixture(scope="module")
def ours() -> dict[str, list[str]]:
    return _hashes(PACKAGE.parent)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(PACKAGE, tmp_path / PACKAGE.name, ignore=ignored))


def _reworded(source: str) -> str:
    """All docstrings changed, comments taken out and others put in."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            value.value = "Other words."
    return f"# Other words.\n{ast.unparse(tree)}\n"


def _edit(file: Path, old: str, new: str) -> None:
    source = file.read_text(encoding="utf-8")
    assert old in source
    file.write_text(source.replace(old, new, 1), encoding="utf-8")


def test_other_words_in_every_module(copy: Path, ours: dict[str, list[str]]) -> None:
    for file in copy.rglob("*.py"):
        file.write_text(_reworded(file.read_text(encoding="utf-8")), encoding="utf-8")
    assert _hashes(copy.parent) == ours


def test_modules_in_other_places(copy: Path, ours: dict[str, list[str]]) -> None:
    """Retrievers, encoders and what they share, moved and renamed."""
    (copy / "inner_room").mkdir()
    (copy / "inner_room" / "__init__.py").touch()
    moves = {
        "core.ranking": "inner_room.order",
        "components.table_text": "inner_room.writing_tables",
        "retrievers.bm25": "retrievers.okapi",
        "core.release": "inner_room.release_files",
        "retrievers.dense": "inner_room.with_vectors",
        "components.encoders.lsa": "inner_room.topics",
        "core.cache_use": "inner_room.used_caches",
    }
    for old, new in moves.items():
        place = copy.joinpath(*old.split(".")).with_suffix(".py")
        place.rename(copy.joinpath(*new.split(".")).with_suffix(".py"))
    for file in copy.rglob("*.py"):
        file.write_text(_moved(file.read_text(encoding="utf-8"), moves), encoding="utf-8")
    assert _hashes(copy.parent) == ours


def _moved(source: str, moves: dict[str, str]) -> str:
    """A source file whose imports, and names of plug-ins, are of the modules' new places."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list):
                body[:] = [moved for statement in body for moved in _imports(statement, moves)]
        if isinstance(node, ast.Constant) and str(node.value).startswith("target_bench."):
            module, _, name = str(node.value).partition(":")
            node.value = f"{_place(module, moves)}:{name}" if name else node.value
    return ast.unparse(tree)


def _imports(statement: ast.stmt, moves: dict[str, str]) -> list[ast.stmt]:
    """A statement; of one that imports from this package, one for each name."""
    if not isinstance(statement, ast.ImportFrom):
        return [statement]
    if str(statement.module).partition(".")[0] != "target_bench":
        return [statement]
    found: list[ast.stmt] = []
    for one in statement.names:
        module = f"{statement.module}.{one.name}"
        if _place(module, moves) == module:
            found.append(ast.ImportFrom(_place(str(statement.module), moves), [one], level=0))
        else:
            before, _, name = _place(module, moves).rpartition(".")
            alias = ast.alias(name, one.asname or one.name)
            found.append(ast.ImportFrom(before, [alias], level=0))
    return found


def _place(module: str, moves: dict[str, str]) -> str:
    package, _, inner = module.partition(".")
    return f"{package}.{moves[inner]}" if package == "target_bench" and inner in moves else module


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        ("core/ranking.py", "53 - _KEPT", "53 + _KEPT", {"retriever bm25", "generator openai"}),
        ("retrievers/bm25.py", "k1: float = 0.5", "k1: float = 0.6", {"retriever bm25"}),
        ("sql/baseline.py", " + ", " - ", {"generator extractive"}),
        ("sql/hardness.py", " > ", " < ", {"corpus spider"}),
    ],
)
def test_an_operator_or_a_constant(
    copy: Path, ours: dict[str, list[str]], file: str, old: str, new: str, changed: set[str]
) -> None:
    """Also in a module that is imported inside of a function."""
    _edit(copy / file, old, new)
    found = _hashes(copy.parent)
    differing = {name for name in ours if found[name] != ours[name]}
    assert changed <= differing
    if file != "core/ranking.py":
        assert "retriever random" not in differing


def test_another_plug_in_in_the_registry(copy: Path, ours: dict[str, list[str]]) -> None:
    """What a name stands for is identified where it is used."""
    other = '"bm25-again": "target_bench.retrievers.bm25:BM25", "bm25f":'
    _edit(copy / "core" / "built_in.py", '"bm25f":', other)
    found = _hashes(copy.parent)
    assert found["retriever bm25-again"] == ours["retriever bm25"]
    assert {name: found[name] for name in ours} == ours


def test_no_plug_in_reads_docstrings() -> None:
    """Those of this package are left out of hashes because nothing that ranks or answers does."""
    readers = {
        file.relative_to(PACKAGE).as_posix()
        for file in PACKAGE.rglob("*.py")
        if re.search(r"__doc__|getdoc|getsource\b", file.read_text(encoding="utf-8"))
    }
    assert readers == {
        "cli/describe.py",
        "cli/plugins.py",
        "evaluation/arena/tested_metrics.py",
        "reporting/leaderboard/submission_checks.py",
        "core/plugin_sources.py",
        "testing/checks.py",
    }
