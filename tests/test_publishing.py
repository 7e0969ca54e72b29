"""What others build on: the GitHub Action, the container, and the sessions of a contributor."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from target_bench import evaluate
from target_bench.runs.baseline_file import write_baseline
from tests.builders import ROOT
from tests.runs.forked import client

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
INSTALL, *STEPS = ACTION["runs"]["steps"]


def _step(step: dict[str, Any], folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run a step as a runner does, in ``folder``."""
    values = {name: entry.get("default") for name, entry in ACTION["inputs"].items()} | inputs
    environment = {
        name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda m: values[m[1]], text)
        for name, text in step["env"].items()
    }
    folders = [client().parent, Path(sys.executable).parent, os.environ["PATH"]]
    programs = os.pathsep.join(map(str, folders))
    runner = {"RUNNER_TEMP": str(folder), "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder,
        env=os.environ | {"PATH": programs} | runner | environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def _steps(folder: Path, **inputs: str) -> int:
    for step in STEPS:
        done = _step(step, folder, **inputs)
        if done.returncode:
            break
    print(done.stdout, done.stderr)  # noqa: T201 (shown if the test fails)
    return done.returncode


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_steps_of_the_action_pass_and_fail(tmp_path: Path) -> None:
    [result] = evaluate("bm25", "mini", out=tmp_path / "baseline")
    write_baseline(result, tmp_path / "baseline.json")
    assert _steps(tmp_path, retriever="bm25") == 0
    summary = tmp_path / "summary.md"
    assert "### target-bench gate: passed" in summary.read_text(encoding="utf-8")

    rules = "recall@10<-0.01 mrr<-0.02"
    assert _steps(tmp_path, retriever="random", **{"fail-on": rules}) == 1
    assert "### target-bench gate: failed" in summary.read_text(encoding="utf-8")
    assert (tmp_path / "gate.xml").read_text(encoding="utf-8").count("<testcase") == 2
    assert _steps(tmp_path, retriever="no such; retriever") == 2


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_action_checks_every_run(tmp_path: Path) -> None:
    """The second one fails here; each has a baseline, as they are of several tasks."""
    baselines = []
    for task in ("retrieval", "qa"):
        [result] = evaluate("bm25", "mini", task=task, out=tmp_path / "baseline")
        baselines.append(str(tmp_path / f"the baseline of {task}.json"))
        write_baseline(result, Path(baselines[-1]))
    options = "--task retrieval --task qa --generator"
    both, rule = "\n".join([*baselines, ""]), {"fail-on": "recall@10<-0.5"}
    inputs = {"retriever": "bm25", "baseline": both}
    assert _steps(tmp_path, options=f"{options} extractive", **inputs) == 0
    assert (tmp_path / "summary.md").read_text().count("### target-bench gate: passed") == 2
    assert (tmp_path / "gate-2.xml").is_file()
    assert _steps(tmp_path, options=f"{options} empty", **inputs) == 1
    text = (tmp_path / "summary.md").read_text().rpartition("gate: passed")[2]
    assert "### target-bench gate: failed" in text
    both = "\n".join([*baselines, baselines[0]])
    assert _steps(tmp_path, retriever="bm25", baseline=both, **rule) == 2
    options = "--task retrieval --retriever lsa"
    assert _steps(tmp_path, retriever="bm25", baseline=baselines[0], options=options, **rule) == 0


def test_no_input_of_the_action_is_written_into_a_script() -> None:
    assert not [step["name"] for step in (INSTALL, *STEPS) if "${{" in step["run"]]
    used = re.findall(r"inputs\.([\w-]+)", str(ACTION["runs"]))
    assert set(used) == set(ACTION["inputs"])


def test_the_container_gets_what_the_wheel_is_built_of(tmp_path: Path) -> None:
    """The image is not built here; what it copies is installed as it does."""
    pytest.importorskip("hatchling")
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    for copied in re.findall(r"^COPY (.*)$", text, re.MULTILINE):
        *sources, to = copied.split()
        for source in sources:
            path, target = ROOT / source, tmp_path / "image" / to.lstrip("/")
            if path.is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(path, target, dirs_exist_ok=True, ignore=ignored)
            else:
                target.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    names = []
    for source in (tmp_path / "image" / "src", ROOT):
        subprocess.run(build, cwd=source, check=True, capture_output=True)
        [wheel] = tmp_path.glob("*.whl")
        names.append(set(zipfile.ZipFile(wheel).namelist()))
        wheel.unlink()
    assert names[0] == names[1]


SESSIONS = re.findall(
    r"^@nox\.session\ndef (\w+)", (ROOT / "noxfile.py").read_text(encoding="utf-8"), re.MULTILINE
)
WORKFLOW = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "path",
    [
        "CONTRIBUTING.md",
        ".ci/run",
        ".github/workflows/test.yml",
        ".github/pull_request_template.md",
    ],
)
def test_sessions_that_are_named_exist(path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    called = re.findall(r"(?:nox[^\n]* -s|=\S+ session) ((?:[a-z]+ ?)+)", text)
    named = {name for names in called for name in names.split()} - {"passes", "writes"}
    assert named
    assert named <= set(SESSIONS)


def test_the_fast_tests_are_there() -> None:
    text = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    paths = re.findall(r'"(tests/[\w/.]+)"', text)
    assert len(paths) >= 4
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_paths_in_contributing_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    text = text.partition("## Contribute a plug-in")[0]
    paths = re.findall(r"`((?:target_bench|tests|benchmarks)/[\w./]+)`", text)
    assert len(paths) > 5
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_workflow_runs_the_two_commands_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [
        line for line in readme.splitlines() if line.startswith("pip install -e") and "&&" in line
    ]
    assert len(commands) == 2
    for command in commands:
        assert f"- run: {command}\n" in WORKFLOW
    assert yaml.safe_load(WORKFLOW)["permissions"] == {"contents": "read"}
    for line in WORKFLOW.splitlines():
        if "uses:" in line:
            assert re.fullmatch(r".*uses: actions/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)


@pytest.mark.parametrize("form", ["bug", "wrong_number", "retriever", "corpus"])
def test_issue_forms(form: str) -> None:
    path = ROOT / ".github" / "ISSUE_TEMPLATE" / f"{form}.yml"
    parsed = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"name", "description", "labels", "body"} <= set(parsed)
    ids = [field["id"] for field in parsed["body"]]
    assert len(set(ids)) == len(ids)
    assert any(field.get("validations") == {"required": True} for field in parsed["body"])
