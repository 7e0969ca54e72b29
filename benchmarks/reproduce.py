"""Run the commands of reproductions.yaml and hold what they print against the published figures.

    TARGET_BENCH_DATA=... python -m benchmarks.reproduce
    python -m benchmarks.reproduce --only totto --only target
    python -m benchmarks.reproduce --markdown > docs/reproduced_papers.md

Of every figure: **pass** (it agrees with the published one within the tolerance), **differ** (it
does not, and the reason stands there), or **cannot** (a file, a model or an address is missing). A
figure that is no longer what reproductions.yaml records, or differs without a reason, is
**changed**: the exit code is 1.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
LACKING = 2
"""The exit code of target-bench for missing data, extras and models."""
UNANSWERED = 3
"""The exit code of target-bench where a query has no answer, which counts as wrong."""
FILE = ROOT / "benchmarks" / "reproductions.yaml"


@dataclass(frozen=True)
class Outcome:
    """What came of one published figure.

    Attributes:
        status: pass, differ, changed or cannot.
        here: the figure as computed now, if it was.
        why: the reason of a difference, or what is missing.
    """

    entry: Mapping[str, Any]
    figure: Mapping[str, Any]
    status: str
    here: float | None
    why: str

    @property
    def name(self) -> str:
        """What tells this figure from others of its entry, as in ``ottqa recall@10``."""
        apart = ("published", "here", "why")
        return " ".join(str(value) for key, value in self.figure.items() if key not in apart)

    @property
    def as_published(self) -> str:
        """The name and the published figure, where a source at hand shows it."""
        published = self.figure.get("published")
        return self.name if published is None else f"{self.name} {published:g}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", action="append", metavar="WORD", help="of a paper or a table")
    parser.add_argument("--markdown", action="store_true", help="print the page of the docs")
    options = parser.parse_args()
    outcomes = []
    for entry in entries(options.only):
        for outcome in reproduce(entry):
            outcomes.append(outcome)
            if not options.markdown:
                print(_line(outcome), flush=True)
    if options.markdown:
        print(page(outcomes), end="")
    else:
        print(_counts(outcomes))
    return int(any(outcome.status == "changed" for outcome in outcomes))


def entries(only: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return the entries of reproductions.yaml whose paper or table has one of the words."""
    listed = document()["reproductions"]
    return [
        entry
        for entry in listed
        if not only
        or any(word.lower() in f"{entry['paper']} {entry['table']}".lower() for word in only)
    ]


@cache
def document() -> dict[str, Any]:
    """Return reproductions.yaml, read once: by libyaml if it is there, ten times as fast."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    whole: dict[str, Any] = yaml.load(FILE.read_text(), Loader=loader)
    return whole


def reproduce(entry: Mapping[str, Any]) -> Iterator[Outcome]:
    """Run the command of an entry, once for all figures and entries of which it is the same."""
    reasons = document()["reasons"]
    for figure in entry["figures"]:
        if "missing" in entry:
            yield Outcome(entry, figure, "cannot", None, entry["missing"])
            continue
        needed = tuple(_filled(path, figure) for path in entry.get("needs", ()))
        data = os.environ.get("TARGET_BENCH_DATA")
        printed = _output(_filled(entry["command"], figure), needed, data)
        if isinstance(printed, str):
            yield Outcome(entry, figure, "cannot", None, printed)
            continue
        if isinstance(printed, RuntimeError):
            yield Outcome(entry, figure, "changed", None, str(printed))
            continue
        here = _at(printed, [_filled(part, figure) for part in entry["at"]])
        why = reasons[figure["why"]] if "why" in figure else ""
        yield Outcome(entry, figure, _status(entry, figure, here), here, why)


def _status(entry: Mapping[str, Any], figure: Mapping[str, Any], here: float) -> str:
    agrees = agree(here, figure["published"], entry["tolerance"])
    recorded = abs(here - figure.get("here", here)) <= 5.1e-5  # four decimals, or more
    if not recorded or not (agrees or "why" in figure):
        return "changed"
    return "pass" if agrees else "differ"


def agree(here: float, published: float, tolerance: float) -> bool:
    """Return whether figures differ by the tolerance at most, and by a tenth of the published one.

    A tolerance that fits the large figures of a table would let any small one pass.
    """
    return abs(here - published) <= min(tolerance, abs(published) / 10)


def _filled(text: Any, figure: Mapping[str, Any]) -> Any:
    """Fill in ``{names}`` of the figure."""
    if not isinstance(text, str):
        return text
    return re.sub(r"{(\w+)}", lambda match: str(figure[match[1]]), text)


@cache
def _output(command: str, needed: Sequence[str], data: str | None) -> Any:
    """Return the JSON that a command prints, text on what it lacks, or the error it ends with."""
    if "$TARGET_BENCH_DATA" in command + " ".join(needed) and not data:
        return "set TARGET_BENCH_DATA to the folder of the data"
    absent = [path for path in needed if not Path(os.path.expandvars(path)).is_file()]
    if absent:
        return f"there is no file {absent[0]}"
    program, *arguments = shlex.split(os.path.expandvars(command))
    start = [sys.executable, *(["-m", "target_bench"] if program == "target-bench" else [])]
    places = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(places)}
    with tempfile.TemporaryDirectory() as folder:  # where the runs go
        done = subprocess.run(
            [*start, *arguments], cwd=folder, env=environment, capture_output=True, text=True
        )
    message = (done.stderr.strip().splitlines() or ["no message"])[-1]
    if done.returncode == LACKING:
        return message
    if done.returncode not in (0, UNANSWERED):
        return RuntimeError(message)
    return json.loads(done.stdout)


def _at(value: Any, way: Sequence[Any]) -> float:
    for part in way:
        if isinstance(value, list) and isinstance(part, str):
            key, _, named = part.partition("=")
            (value,) = (row for row in value if row[key] == named)
        else:
            value = value[part]
    return float(value)


def _line(outcome: Outcome) -> str:
    here = "" if outcome.here is None else f" here {outcome.here:.6g}"
    why = f" ({outcome.why.strip()})" if outcome.why and outcome.status != "pass" else ""
    return (
        f"{outcome.status:8}{outcome.entry['paper']}, {outcome.entry['table']}: "
        f"{outcome.as_published}{here}{why}"
    )


def _counts(outcomes: Sequence[Outcome]) -> str:
    statuses = [outcome.status for outcome in outcomes]
    counts = (f"{statuses.count(name)} {name}" for name in ("pass", "differ", "cannot", "changed"))
    return f"{len(statuses)} figures: {', '.join(counts)}"


def page(outcomes: Sequence[Outcome]) -> str:
    """Return the page of the docs: for each paper a table of the computed figures, and the rest.

    Below a table stand the reasons of differences, and the figures that cannot be computed.
    """
    lines = ["# Reproduced papers", "", _INTRODUCTION.format(_counts(outcomes)), ""]
    for paper in dict.fromkeys(outcome.entry["paper"] for outcome in outcomes):
        of_paper = [outcome for outcome in outcomes if outcome.entry["paper"] == paper]
        lines += [f"## {paper}", ""]
        lines += _computed([outcome for outcome in of_paper if outcome.status != "cannot"])
        lines += _not_computed([outcome for outcome in of_paper if outcome.status == "cannot"])
    return "\n".join(lines)


def _computed(outcomes: Sequence[Outcome]) -> list[str]:
    if not outcomes:
        return []
    lines = ["| table | figure | published | here | |", "|---|---|---|---|---|"]
    notes: dict[str, int] = {}
    table = ""
    for outcome in outcomes:
        note = ""
        if outcome.status != "pass":
            note = f" ({notes.setdefault(outcome.why.strip(), len(notes) + 1)})"
        name = "" if outcome.entry["table"] == table else outcome.entry["table"]
        table = outcome.entry["table"]
        here = "–" if outcome.here is None else f"{outcome.here:.4f}"
        row = [name, outcome.name, f"{outcome.figure['published']:g}", here, outcome.status + note]
        lines.append(f"| {' | '.join(row)} |")
    reasons = [f"{number}. {why}" for why, number in notes.items()]
    return [*lines, "", *reasons, ""] if reasons else [*lines, ""]


def _not_computed(outcomes: Sequence[Outcome]) -> list[str]:
    """Return, for each thing that is missing, the published figures of each table."""
    lines = []
    for missing in dict.fromkeys(outcome.why.strip() for outcome in outcomes):
        lines += [f"Not computed ({missing}):", ""]
        figures: dict[str, list[str]] = {}
        for outcome in outcomes:
            if outcome.why.strip() == missing:
                figures.setdefault(outcome.entry["table"], []).append(outcome.as_published)
        lines += [*(f"* {table}: {', '.join(named)}" for table, named in figures.items()), ""]
    return lines


_INTRODUCTION = """\
Published figures, computed again from public files. This page is written by
`TARGET_BENCH_DATA=... python -m benchmarks.reproduce --markdown` from
[reproductions.yaml](../benchmarks/reproductions.yaml), which has the command of every figure.
{}. A number leads to the reason of a difference, below the table."""


if __name__ == "__main__":
    sys.exit(main())
