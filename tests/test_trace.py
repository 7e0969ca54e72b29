"""The count of the files that a command enters."""

import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Thread
from types import ModuleType

import pytest

from tests.real.data import DATA
from tools.trace import Trace, report

ROOT = Path(__file__).parent.parent

BODY = """
def called():
    return [len(x) for x in ("a", "b")]

def at_import():
    return 1

VALUE = at_import()

class Holder:
    value = at_import()
"""


def _traced(*commands: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tools.trace", *commands],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_run_enters_its_own_files(tmp_path: Path) -> None:
    done = _traced("run mini --task retrieval --retriever bm25", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "runs").glob("retrieval-mini-test-bm25-*/scores.json"))
    number, *folders = done.stdout.partition("files of target_bench entered: ")[2].splitlines()
    entered = {
        f"{name.partition(' ')[0]}{file}"
        for name, _, files in (line.partition(": ") for line in folders)
        for file in files.split(", ")
    }
    assert int(number) == len(entered)
    assert {"retrievers/bm25.py", "evaluation/target.py", "corpora/mini/loader.py"} <= entered
    assert "core/errors.py" not in entered, "imported, and no function of it is called"
    assert not [
        name
        for name in entered
        if name.startswith(("reporting/", "evaluation/sweeps/", "testing/"))
    ]


def _n_entered(*commands: str, folder: Path) -> int:
    done = _traced(*commands, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return int(done.stdout.partition("files of target_bench entered: ")[2].split()[0])


def test_a_run_of_downloaded_data_is_read_in_30_files(tmp_path: Path) -> None:
    if not (DATA / "ottqa").is_dir():
        pytest.skip("needs OTT-QA in $TARGET_BENCH_DATA")
    command = f"run ottqa --retriever bm25 --data-dir {DATA}"
    _n_entered(f"{command} --limit 1 --out first", folder=tmp_path)  # into the cache
    assert _n_entered(f"{command} --out second", folder=tmp_path) <= 30


def test_a_run_about_sql_is_read_in_50_files(tmp_path: Path) -> None:
    command = "run mini --task text-to-sql --retriever bm25 --generator extractive"
    assert _n_entered(command, folder=tmp_path) <= 50


def test_commands_add_up_until_one_fails(tmp_path: Path) -> None:
    done = _traced("list corpora", "run no-such-corpus", "list retrievers", folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.endswith("failed: target-bench run no-such-corpus\n")
    assert "plugins.py" in done.stdout
    assert "run.py" in done.stdout
    assert done.stdout.count("files of target_bench entered: ") == 1


CARD = """
name: Our BM25
authors: [Ann Other]
retriever_kind: lexical
parameters: 0
training_data: {mini: no}
hardware: 2 cores
licence: Apache-2.0
open_weights: yes
"""


def test_a_submission_verified_and_shown_is_read_in_45_files(tmp_path: Path) -> None:
    _n_entered("run mini --task retrieval --retriever bm25", folder=tmp_path)
    (run,) = (tmp_path / "runs").iterdir()
    (tmp_path / "card.yaml").write_text(CARD)
    commands = (
        f"leaderboard submit {run} -o team.tbs.zip --card card.yaml",
        "leaderboard verify team.tbs.zip",
        "leaderboard build . -o site",
    )
    assert _n_entered(*commands, folder=tmp_path) <= 45


def _module(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "package" / "sub"
    folder.mkdir(parents=True)
    (folder / "one.py").write_text(BODY)
    return tmp_path / "package"


def test_what_an_import_runs_is_not_entered(package: Path) -> None:
    trace = Trace(package)
    with trace.recording():
        module = _module(package / "sub" / "one.py")
    assert trace.entered == set()
    with trace.recording():
        module.called()
    assert trace.entered == {str(package / "sub" / "one.py")}
    assert report(trace.entered, package) == "files of package entered: 1\nsub/ (1): one.py"


def test_threads_are_followed_and_the_end_is_an_end(package: Path) -> None:
    module = _module(package / "sub" / "one.py")
    trace = Trace(package)
    with trace.recording():
        pass
    module.called()
    Thread(target=module.called).start()
    assert trace.entered == set()
    with trace.recording():
        thread = Thread(target=module.called)
        thread.start()
        thread.join()
    assert trace.entered == {str(package / "sub" / "one.py")}
