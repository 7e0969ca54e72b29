"""The example of a workflow for a leaderboard's repository: what it may do, and its steps run."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import ROOT
from tests.reporting.leaderboard.forging import files_of, find, packed, with_lines

WORKFLOW = ROOT / "examples" / "leaderboard" / ".github" / "workflows" / "leaderboard.yml"
TEXT = WORKFLOW.read_text(encoding="utf-8")
PARSED: dict[Any, Any] = yaml.safe_load(TEXT)
JOBS: dict[str, Any] = PARSED["jobs"]

Shell = Callable[..., str]


def _steps() -> list[dict[str, Any]]:
    return [step for job in JOBS.values() for step in job["steps"]]


def _step(job: str, name: str) -> str:
    (run,) = [s["run"] for s in JOBS[job]["steps"] if str(s.get("name")).startswith(name)]
    return str(run)


def test_strangers_meet_no_right_and_no_secret() -> None:
    """The job with rights runs one action of GitHub; the token is not left in the checkout."""
    assert set(PARSED[True]) == {"pull_request", "push"}  # YAML reads the key `on` as true
    assert PARSED["permissions"] == {"contents": "read"}
    assert "secrets." not in TEXT
    assert [name for name, job in JOBS.items() if "permissions" in job] == ["deploy"]
    assert JOBS["verify"]["if"] == "github.event_name == 'pull_request'"
    assert JOBS["build"]["if"] == "github.event_name == 'push'"
    assert JOBS["deploy"]["needs"] == "build"
    (step,) = JOBS["deploy"]["steps"]
    assert step["uses"].startswith("actions/deploy-pages@")
    assert "run" not in step
    checkouts = [step["with"] for step in _steps() if "actions/checkout@" in step.get("uses", "")]
    assert [options["persist-credentials"] for options in checkouts] == [False, False]


def test_what_is_called() -> None:
    """Actions by their commits, commands of ours that there are, and nothing pasted into a script.

    A misspelt command of ours would otherwise be noticed in production.
    """
    for line in TEXT.splitlines():
        if "uses:" in line:
            assert re.fullmatch(r".*uses: actions/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)
    assert not [step["name"] for step in _steps() if "${{" in step.get("run", "")]
    called = re.findall(r"^\s*(?:run: )?(target-bench [a-z]+ [a-z]+)", TEXT, re.MULTILINE)
    assert set(called) == {"target-bench leaderboard verify", "target-bench leaderboard build"}


COMMIT = "git add -A && git -c user.name=a -c user.email=a@b.invalid commit -q -m x"
CHECK = _step("verify", "See that")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Runs a step as a runner does, in a repository with one commit."""
    repository, temp = tmp_path / "repository", tmp_path / "temp"
    (repository / "submissions").mkdir(parents=True)
    (repository / "submissions" / "there.tbs.zip").write_bytes(b"x")
    temp.mkdir()
    environment = {
        **os.environ,
        "RUNNER_TEMP": str(temp),
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_REPOSITORY": "team/leaderboard",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
    }

    def run(script: str, code: int = 0) -> str:
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        done = subprocess.run(
            command, cwd=repository, env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    run(f"git init -q -b main . && {COMMIT}")
    return run


@pytest.mark.parametrize("name", ["a", "our-bm25_2.1"])
def test_an_added_submission_is_listed(shell: Shell, tmp_path: Path, name: str) -> None:
    shell(f"touch submissions/{name}.tbs.zip; {COMMIT}")
    shell(CHECK)
    assert (tmp_path / "temp" / "added").read_text() == f"submissions/{name}.tbs.zip\n"


@pytest.mark.parametrize(
    "change",
    [
        "echo y > submissions/there.tbs.zip",
        "git mv submissions/there.tbs.zip submissions/mine.tbs.zip",
        "rm submissions/there.tbs.zip",
        "rm submissions/good.tbs.zip",  # nothing is added
        "touch submissions/mine.json",
        "ln -s /etc/passwd submissions/mine.tbs.zip",
        "touch 'submissions/-x.tbs.zip'",
        "touch 'submissions/a b.tbs.zip'",
        "touch 'submissions/$(id).tbs.zip'",
        "touch $'submissions/a\\nb.tbs.zip'",
        "mkdir submissions/sub; touch submissions/sub/mine.tbs.zip",
        "mkdir -p .github/workflows; touch .github/workflows/x.yml",
    ],
)
def test_any_other_change_fails(shell: Shell, change: str) -> None:
    shell(f"touch submissions/good.tbs.zip; {change}; {COMMIT} --allow-empty")
    shell(CHECK, code=1)


@pytest.fixture
def good(shell: Shell, tmp_path: Path, packed_retrieval: Path) -> Path:
    """The folder of submissions with a good one that was added."""
    submissions = tmp_path / "repository" / "submissions"
    (submissions / "there.tbs.zip").unlink()
    shell(COMMIT)
    shutil.copyfile(packed_retrieval, submissions / "good.tbs.zip")
    shell(COMMIT)
    return submissions


def test_a_good_submission_and_a_forged_one(
    shell: Shell, tmp_path: Path, good: Path, packed_retrieval: Path
) -> None:
    """The steps of a pull request, with the real command."""
    shell(CHECK)
    printed = shell(_step("verify", "Verify"))
    assert "good.tbs.zip: accepted" in printed
    first, *_, last = printed.splitlines()
    assert last == f"::{first.removeprefix('::stop-commands::')}::"
    files = files_of(packed_retrieval)
    name = find(files, "retrieval.jsonl")
    forged = with_lines(files, name, lambda lines: [*lines, lines[0]])
    packed(good / "forged.tbs.zip", forged)
    (tmp_path / "temp" / "added").write_text("submissions/forged.tbs.zip\n")
    assert "forged.tbs.zip: rejected" in shell(_step("verify", "Verify"), code=5)


def test_the_main_branch_builds(shell: Shell, good: Path) -> None:
    """For a pull request the site is built by the same command."""
    page = good.parent / "site" / "index.html"
    for job in ("build", "verify"):
        printed = shell(_step(job, "Build the site"))
        assert printed == "site/index.html: 1 entry\n"
        shutil.rmtree(page.parent)
