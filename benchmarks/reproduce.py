"""Run the commands of reproductions.yaml and hold what they print against the published figures.

    TARGET_BENCH_DATA=... python -m benchmarks.reproduce
    python -m benchmarks.reproduce --only totto --only target
    python -m benchmarks.reproduce --page

Of every figure: **pass** (it agrees with the published one within the tolerance), **differ** (it
does not, and the reason stands there), or **missing** (a file, a model or an address is not at
hand).
A figure that is no longer what reproductions.yaml records, or differs without a reason, is
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
PAGE = ROOT / "docs" / "reproduced_papers.md"


@dataclass(frozen=True)
class Outcome:
    """What came of one published figure.

    Attributes:
        status: pass, differ, changed or missing.
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
    parser.add_argument("--page", action="store_true", help="write docs/reproduced_papers.md")
    options = parser.parse_args()
    if options.page:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    outcomes = []
    for entry in entries(options.only):
        for outcome in reproduce(entry):
            outcomes.append(outcome)
            print(_line(outcome), flush=True)
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
            yield Outcome(entry, figure, "missing", None, entry["missing"])
            continue
        needed = tuple(_filled(path, figure) for path in entry.get("needs", ()))
        data = os.environ.get("TARGET_BENCH_DATA")
        printed = _output(_filled(entry["command"], figure), needed, data)
        if isinstance(printed, str):
            yield Outcome(entry, figure, "missing", None, printed)
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
    counts = (f"{statuses.count(name)} {name}" for name in ("pass", "differ", "missing", "changed"))
    return f"{len(statuses)} figures: {', '.join(counts)}"


def page() -> str:
    """Return the page of the docs from the recorded figures; nothing is run."""
    outcomes = [_recorded(entry, figure) for entry in entries() for figure in entry["figures"]]
    lines = [_INTRODUCTION.format(_counts(outcomes))]
    for paper in dict.fromkeys(entry["paper"] for entry in entries()):
        printed = [outcome for outcome in outcomes if outcome.entry["paper"] == paper]
        computed = [outcome for outcome in printed if outcome.status != "missing"]
        lines += [f"\n## {paper}\n"]
        lines += [f"{len(printed)} figures, of which {len(computed)} are computed.\n"]
        lines += ["| figures | agree | differ | because |", "|---|---|---|---|"]
        lines += _rows(computed)
    return "\n".join(lines) + "\n"


def _recorded(entry: Mapping[str, Any], figure: Mapping[str, Any]) -> Outcome:
    here = figure.get("here")
    status = "missing" if here is None else "differ" if "why" in figure else "pass"
    return Outcome(entry, figure, status, here, figure.get("why", ""))


def _rows(computed: Sequence[Outcome]) -> Iterator[str]:
    """Yield a row for each table of a paper: how many figures agree, which differ and why."""
    for table in dict.fromkeys(outcome.entry["table"] for outcome in computed):
        outcomes = [outcome for outcome in computed if outcome.entry["table"] == table]
        passed = [outcome for outcome in outcomes if outcome.status == "pass"]
        differing = [outcome for outcome in outcomes if outcome.status == "differ"]
        reasons = dict.fromkeys(outcome.why for outcome in differing)
        agree = len(passed) or ""
        yield f"| {table} | {agree} | {_listed(differing)} | {'; '.join(reasons)} |"


def _listed(outcomes: Sequence[Outcome]) -> str:
    """Return how many figures these are, and the one that is farthest from the published figure."""
    if not outcomes:
        return ""
    farthest = max(outcomes, key=lambda outcome: abs(_difference(outcome)))
    figure = f"{farthest.name} {farthest.figure['published']:g} → {farthest.here:.4g}"
    return f"{len(outcomes)}: {figure}"


def _difference(outcome: Outcome) -> float:
    return float(outcome.here or 0) - float(outcome.figure["published"])


_INTRODUCTION = """\
# Reproduced papers

Published figures, computed again from public files ({}).
Each row is a table of a paper: how many figures agree, how many differ, and the one that differs
most, as published → here. Missing figures need a model, a file or outputs that are not public.
[reproductions.yaml](../benchmarks/reproductions.yaml) has all figures with their commands,
tolerances and reasons in full.

```sh
python -m benchmarks.reproduce --only totto       # run the commands, compare
python -m benchmarks.reproduce --page             # write this page from the recorded figures
```"""


if __name__ == "__main__":
    sys.exit(main())
