"""The template of a plug-in: a package of its own, built, installed, tested and run."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from target_bench.core import registry
from target_bench.testing import retriever_checks
from tests.builders import ROOT

TEMPLATE = ROOT / "docs" / "plugin_template"
CHECKS = retriever_checks("bm25")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the template, and ``site`` beside it, where it is installed."""
    for needed in ("pip", "hatchling"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"building the template offline needs {needed}: pip install {needed}")
    folder = tmp_path_factory.mktemp("template")
    ignored = shutil.ignore_patterns("__pycache__", ".pytest_cache", "*.egg-info", "dist", "runs")
    shutil.copytree(TEMPLATE, folder / "copy", ignore=ignored)
    offline = ("--no-index", "--no-deps", "--no-build-isolation")
    done = _python(folder, "pip", "install", *offline, "--target", str(folder / "site"), "./copy")
    assert done.returncode == 0, done.stderr
    return folder


def _python(folder: Path, *arguments: str, cwd: str = ".") -> subprocess.CompletedProcess[str]:
    """A module run by Python, with the plug-in installed beside this package."""
    paths = [str(folder / "site"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "utf-8",
        "COLUMNS": "120",
    }
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder / cwd,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def test_its_tests_pass(folder: Path) -> None:
    done = _python(folder, "pytest", "-q", "-p", "no:cacheprovider", "-rs", cwd="copy")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{2 * (len(CHECKS) - 1) + 1} passed, 2 skipped" in done.stdout
    assert "it has no retrieve_batch" in done.stdout


def test_it_is_listed_checked_and_run_by_its_name(folder: Path) -> None:
    assert "my-retriever" not in registry.names("retriever"), "it is installed elsewhere alone"
    listed = _python(folder, "target_bench", "list", "retrievers")
    assert "Sum of the weights of the query's words" in listed.stdout
    checked = _python(folder, "target_bench", "check", "my-retriever:rows=5")
    assert checked.stdout.startswith(f"my-retriever:rows=5: {len(CHECKS) - 1} checks passed")
    command = ("run", "mini", "--task", "retrieval", "--retriever", "my-retriever")
    run = _python(folder, "target_bench", *command)
    assert run.stdout.startswith("my-retriever: 65% of the right tables first")
    assert [done.returncode for done in (listed, checked, run)] == [0, 0, 0]
    assert len(list((folder / "runs").iterdir())) == 1
