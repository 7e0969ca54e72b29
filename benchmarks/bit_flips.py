"""What one flipped bit does, in every kind of file that is cached, saved or stored.

Everything is made once, on ``mini``: all tasks, text-to-SQL in both engines, dense retrieval with
recorded vectors, recorded answers, saved indexes, stored runs. Then, again and again: all of it is
copied, one bit of one file is flipped, and what reads that file runs in a process of its own. For a
file of the cache or an index that is the evaluation, in a new folder of runs; for a file of a
stored run it is list, show, compare, report, submit, score, and the same run again. What comes out
is held against what comes out of the whole files:

* no effect: the same, and nothing is said;
* made again: the same, and a message names the file that was made again;
* refused: an error of ours, or a run that is shown as damaged;
* other, said: another score, text or prompt, with a message beside it;
* other, silent: another one without a message of the same command (there must be none);
* traceback: an error that is not ours (there must be none).

    python -m benchmarks.bit_flips [--flips 200] [--seed 7] [--only KIND] [--jobs 1] [--sql-limit N]
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.bit_flip_steps import KINDS, STEPS, Figures, Kind, Place, apart, begun, prepare
from target_bench.core.errors import TargetBenchError

OUTCOMES = ("no effect", "made again", "refused", "other, said", "other, silent", "traceback")
FAULTS = ("other, silent", "traceback")
"""What must not happen."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a step gave.

    Attributes:
        figures: by name; one that was refused is not there.
        said: name -> the messages beside it; of one that was refused, the error.
        fault: a traceback, if there was one.
    """

    figures: Figures
    said: Mapping[str, Sequence[str]]
    fault: str | None = None


def measured(place: Place, step: str) -> Measured:
    """What a step gives, in a process of its own."""
    return apart(partial(_measured, place, step))  # type: ignore[no-any-return]  # what comes out of a process is untyped


def _measured(place: Place, step: str) -> Measured:
    os.environ["TARGET_BENCH_CACHE"] = str(place.trial / "cache")
    figures: Figures = {}
    messages: dict[str, list[str]] = defaultdict(list)
    out = place.root / "new"
    heard: list[str] = []
    for name, make in STEPS[step](place, out, heard.append):
        shutil.rmtree(out, ignore_errors=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                figures[name] = make()
            except TargetBenchError as error:
                heard.append(str(error))
            except Exception:
                return Measured(figures, messages, traceback.format_exc())
        messages[name] = [*heard, *(str(warning.message) for warning in caught)]
        heard.clear()
    return Measured(figures, messages)


@dataclass(frozen=True, slots=True)
class Flip:
    """One trial: a kind, a file, a byte, a bit, and what came of it."""

    kind: Kind
    file: str
    byte: int
    bit: int
    outcome: str
    detail: str


def flip(place: Place, kind: Kind, chance: random.Random, whole: Mapping[str, Measured]) -> Flip:
    """Flip one bit of a file of a kind, and see what comes of it.

    Args:
        place: where everything lies.
        kind: of the file.
        chance: chooses file, byte and bit.
        whole: what ``measured`` gives of each step without any damage.
    """
    place.copy()
    files = sorted(path for path in place.trial.glob(kind.pattern) if path.is_file())
    path = chance.choice([path for path in files if path.stat().st_size])
    content = bytearray(path.read_bytes())
    byte, bit = chance.randrange(len(content)), chance.randrange(8)
    content[byte] ^= 1 << bit
    path.write_bytes(content)
    after = measured(place, kind.step)
    outcome, detail = _judged(after, whole[kind.step])
    return Flip(kind, str(path.relative_to(place.trial)), byte, bit, outcome, detail)


def _judged(after: Measured, whole: Measured) -> tuple[str, str]:
    if after.fault is not None:
        return "traceback", after.fault
    new = [message for messages in after.said.values() for message in messages]
    other = {n for n, value in after.figures.items() if value != whole.figures[n]}
    if "list" in other and after.said["list"]:
        listed = after.figures["list"]
        if all(whole.figures["list"][name] == scores for name, scores in listed.items()):
            other.remove("list")  # the damaged run is left out, and was named
    if other:
        silent = [name for name in other if not after.said[name]]
        return f"other, {'silent' if silent else 'said'}", f"{sorted(other)}: {new[:1]}"
    if after.figures.keys() != whole.figures.keys() or after.said.get("list"):
        return "refused", new[0]
    return ("made again", new[0]) if new else ("no effect", "")


def trial(
    root: Path, numbers: Sequence[int], seed: int, only: str = "", sql_limit: int | None = None
) -> Iterator[Flip]:
    """Flip bits, the kinds of files in turn.

    Args:
        root: an empty folder.
        numbers: of the flips; a number and the seed decide what is flipped.
        seed: of the choices.
        only: the beginning of the names of the kinds to try; default: all.
        sql_limit: how many statements each engine runs; default: all.
    """
    os.environ["TARGET_BENCH_CACHE"] = str(root / "trial" / "cache")
    place = prepare(root, sql_limit)
    kinds = [kind for kind in KINDS if kind.name.startswith(only)]
    whole: dict[str, Measured] = {}
    for number in numbers:
        kind = kinds[number % len(kinds)]
        if kind.step not in whole:
            place.copy()
            whole[kind.step] = measured(place, kind.step)
            clean = whole[kind.step]
            assert not clean.fault, clean.fault
            assert not any(clean.said.values()), clean.said
        yield flip(place, kind, random.Random(f"{seed}:{number}"), whole)


def main() -> None:
    """Print one line per flip to standard error and a table by kind of file; exit 1 on a fault."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--flips", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--sql-limit", type=int)
    given = parser.parse_args()
    console = Console(width=130)
    counts: Counter[tuple[str, str]] = Counter()

    def job(number: int) -> list[Flip]:
        with tempfile.TemporaryDirectory() as folder:
            numbers = range(number, given.flips, given.jobs)
            flips = []
            for flip in trial(Path(folder), numbers, given.seed, given.only, given.sql_limit):
                flips.append(flip)
                fields = flip.outcome, flip.file, flip.byte, flip.bit, flip.detail
                print(*fields, sep="\t", file=sys.stderr)
            return flips

    waiting = [begun(partial(job, number)) for number in range(given.jobs)]
    for flip in (flip for result in waiting for flip in result()):
        counts[flip.kind.name, flip.outcome] += 1
    table = Table("kind of file", "flips", *OUTCOMES)
    names = [kind.name for kind in KINDS if any(counts[kind.name, o] for o in OUTCOMES)]
    for name in [*names, "all"]:
        row = [sum(counts[n, o] for n in names if name in (n, "all")) for o in OUTCOMES]
        table.add_row(name, str(sum(row)), *map(str, row))
    console.print(table)
    sys.exit(any(counts[name, fault] for name in names for fault in FAULTS))


if __name__ == "__main__":
    main()
