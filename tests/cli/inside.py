"""The command line without a process of its own."""

import json
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
import typer.main

from target_bench.cli import main

_read_once = cache(typer.main.get_command)
"""Typer would read the options of all commands at each call; here they are read once."""


@dataclass(frozen=True)
class Done:
    """What a command left: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


class Inside:
    """Runs commands and hears what they say."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def __call__(self, *arguments: object) -> Done:
        """Run ``target-bench`` with these arguments."""
        words = ["target-bench", *map(str, arguments)]
        self._monkeypatch.setattr(sys, "argv", words)
        self._monkeypatch.setattr(typer.main, "get_command", _read_once)
        self._monkeypatch.setenv("COLUMNS", "120")
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        assert code is None or isinstance(code, int)
        captured = self._capsys.readouterr()
        return Done(code or 0, captured.out, captured.err)

    def good(self, *arguments: object) -> str:
        """Standard output of a command that succeeds and warns of nothing."""
        done = self(*arguments)
        assert (done.code, done.err) == (0, "")
        return done.out

    def results(self, *arguments: object) -> list[dict[str, Any]]:
        """The results that a command prints with ``--json``, when it succeeds without a warning."""
        results: list[dict[str, Any]] = json.loads(self.good(*arguments, "--json"))["results"]
        return results

    def telling(self, text: str, *arguments: object) -> str:
        """Standard output of a command that succeeds and says this, with no second warning."""
        done = self(*arguments)
        assert done.code == 0, done.err
        assert text in " ".join(done.err.split())
        assert done.err.count("Warning: ") <= 1
        return done.out

    def bad(self, code: int, *arguments: object) -> str:
        """The message of a command that fails, with nothing on standard output."""
        done = self(*arguments)
        assert (done.code, done.out) == (code, ""), done.err
        assert "Traceback" not in done.err
        assert "Internal error" not in done.err
        return done.err
