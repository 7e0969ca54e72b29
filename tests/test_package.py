"""What the package brings, and what importing it costs."""

import inspect
import json
import subprocess
import sys
from importlib.metadata import entry_points, version
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import pytest

import target_bench
from target_bench.core import contract, metric, schema, task, vectors

ROOT = Path(__file__).parent.parent
HEAVY = {"torch", "pandas", "sklearn", "scipy", "pyarrow", "bm25s", "numba", "matplotlib"}


def _modules_after(program: str) -> set[str]:
    report = "import json, sys; print('\\n' + json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{report}"], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}


_HELP = """
import sys
sys.argv = ['target-bench', *{arguments!r}]
from target_bench.cli import main
try:
    main()
except SystemExit:
    pass
"""


@pytest.mark.everywhere
@pytest.mark.parametrize(
    "program",
    [
        "from target_bench import Retriever, metric",
        "from target_bench import *",
        *(_HELP.format(arguments=words) for words in (["--help"], ["run", "--help"], [])),
    ],
)
def test_import_and_help_are_light(program: str) -> None:
    assert not _modules_after(program) & HEAVY


@pytest.mark.everywhere
def test_a_short_run_imports_what_it_needs(tmp_path: Path) -> None:
    program = _HELP.format(arguments=["run", "mini", "--out", str(tmp_path)])
    unneeded = HEAVY - {"pandas", "pyarrow", "scipy"} | {
        "asyncio",
        "duckdb",
        "rich",
        "sqlglot",
        "tqdm",
    }
    assert not _modules_after(program) & unneeded


def test_public_names_resolve_and_are_listed_once() -> None:
    for name in dir(target_bench):
        assert getattr(target_bench, name) is not None
    names = target_bench.__all__
    assert set(names) <= set(dir(target_bench))
    assert {"evaluate", "load", "compare", "read_run", "read_runs", "Result"} <= set(names)
    assert len(set(names)) == len(names)
    with pytest.raises(AttributeError, match="no attribute 'Retreiver'"):
        getattr(target_bench, "Retreiver")  # noqa: B009 (a name that mypy would refuse)


@pytest.mark.parametrize(
    "module", [contract, schema, metric, task, vectors], ids=lambda module: module.__name__
)
def test_every_contract_is_public(module: ModuleType) -> None:
    classes = inspect.getmembers(module, inspect.isclass)
    own = [(name, cls) for name, cls in classes if cls.__module__ == module.__name__]
    contracts = {name for name, cls in own if inspect.isabstract(cls)}
    assert contracts
    assert contracts <= set(dir(target_bench))


def test_version_and_command_are_those_of_the_distribution() -> None:
    assert version("target-bench") == target_bench.__version__
    (script,) = entry_points(group="console_scripts", name="target-bench")
    assert callable(script.load())


def test_data_ships_with_the_package() -> None:
    package = files("target_bench")
    assert (package / "py.typed").is_file()
    data = package / "corpora" / "mini" / "data"
    listed = (data / "tables.jsonl").read_text(encoding="utf-8").splitlines()
    assert (data / "queries.jsonl").is_file()
    for line in listed:
        assert (data / "tables" / f"{json.loads(line)['table_id']}.csv").is_file()
