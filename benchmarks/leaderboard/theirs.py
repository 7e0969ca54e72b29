"""Systems of others on the board: their published predictions, scored here.

    TARGET_BENCH_DATA=... python -m benchmarks.leaderboard.theirs --json        # scores of all
    TARGET_BENCH_DATA=... python -m benchmarks.leaderboard.theirs atr-uae --json
    TARGET_BENCH_DATA=... python -m benchmarks.leaderboard.theirs --out board/  # submissions
    TARGET_BENCH_DATA=... python -m benchmarks.leaderboard.theirs --missing     # how to fetch files

A file of predictions is scored as ``target-bench score`` does, and packed with a card that names
its source. The predictions themselves are not kept: many have no licence. ``--missing | sh``
fetches those that are not below ``TARGET_BENCH_DATA``, each from its repository at the commit that
was scored; without them their systems are left out of a board.
"""

import argparse
import csv
import gzip
import json
import os
import re
import shlex
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from benchmarks.released_tables import answers_of
from target_bench import load
from target_bench.core.errors import DataError
from target_bench.harness.score_external import score_file
from target_bench.reporting.leaderboard.card import Card
from target_bench.reporting.leaderboard.pack import pack, publish_all
from target_bench.runs.result import Result

HERE = Path(__file__).parent
CUTOFFS = (1, 5, 10, 50)
_OF_SOURCE: dict[str, Any] = {
    "parameters": None,
    "chosen_on": "unknown",
    "trained": {},
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--missing", action="store_true", help="print commands that fetch files")
    what.add_argument("--json", action="store_true", help="print the scores")
    what.add_argument("--out", type=Path, help="write a submission of each into this folder")
    options = parser.parse_args(arguments)
    known = systems()
    names = options.names or list(known)
    if options.missing:
        runs = [known[name] | run for name in names for run in known[name]["runs"]]
        print(*(_fetch(run) for run in runs if not (_data() / run["file"]).exists()), sep="\n")
    elif options.json:
        print(json.dumps({name: scores_of(name, known[name]) for name in names}))
    else:
        for name in names:
            if all((_data() / run["file"]).exists() for run in known[name]["runs"]):
                print(submit(name, known[name], options.out), flush=True)


def systems() -> dict[str, dict[str, Any]]:
    """Return name -> all that ``theirs.yaml`` says of a system and its source."""
    sources = yaml.safe_load((HERE / "theirs.yaml").read_text(encoding="utf-8"))
    return {
        name: _OF_SOURCE | {k: v for k, v in source.items() if k != "systems"} | system
        for source in sources
        for name, system in source["systems"].items()
    }


def submit(name: str, system: Mapping[str, Any], folder: Path) -> Path:
    """Write the submission of a system; errors as for ``scores_of``."""
    with _runs(name, system) as runs:
        return pack(
            publish_all([run.folder for run in runs]), _card(system), folder / f"{name}.tbs.zip"
        )


def scores_of(name: str, system: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return corpus -> metric -> score of a system.

    Raises:
        DataError: a file is not there, or is another than the one that was published.
    """
    with _runs(name, system) as runs:
        return {
            run.identity.corpus: {n: score.value for n, score in run.scores.items()} for run in runs
        }


def _data() -> Path:
    return Path(os.environ["TARGET_BENCH_DATA"])


def _card(system: Mapping[str, Any]) -> Card:
    of_corpora = {
        run["corpus"]: system["trained"].get(run["corpus"], "unknown") for run in system["runs"]
    }
    fields = {name: value for name, value in system.items() if name in Card.model_fields}
    return Card.model_validate(fields | {"trained_on": of_corpora})


@contextmanager
def _runs(name: str, system: Mapping[str, Any]) -> Iterator[list[Result]]:
    """Score the files of a system, in a folder that is there as long as it is needed."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a reader should know of the data is in the notes
        yield [_run(name, system | run, Path(folder)) for run in system["runs"]]


def _run(name: str, run: Mapping[str, Any], work: Path) -> Result:
    published = _data() / run["file"]
    if not published.is_file():
        raise DataError(f"{published}: there is no such file; fetch it with\n  {_fetch(run)}")
    content = gzip.decompress(published.read_bytes())
    if sha256(content).hexdigest() != run["sha256"]:
        raise DataError(f"{published}: its hash is not {run['sha256']} of theirs.yaml")
    path = work / run["corpus"] / name
    path.parent.mkdir()
    if "read" in run:
        records = _READ[run["read"]](content.decode("utf-8"), run)
        content = "".join(f"{json.dumps(record)}\n" for record in records).encode()
    path.write_bytes(content)
    data_dir = _data() / "rotowire" if run.get("read") == "tables" else _data()
    given = {"data_dir": data_dir, "out": work / "runs", "split": run.get("split")}
    if run.get("read") == "sets":
        return score_file(run["task"], run["corpus"], run_file=path, top_k=CUTOFFS, **given)
    order = _data() / run["order"] if "order" in run else None
    return score_file(run["task"], run["corpus"], predictions=path, order=order, **given)


def _fetch(run: Mapping[str, Any]) -> str:
    """Return the command that puts a file of predictions, gzipped, in its place."""
    repository, _, commit = re.split("/(tree|blob)/", run["predictions"])
    url = f"{repository}/raw/{commit.partition('/')[0]}/{quote(run['source'])}"
    place = shlex.quote(str(_data() / run["file"]))
    return f"mkdir -p $(dirname {place}) && curl -fL {url} | gzip > {place}"


def _sets(text: str, run: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Read a line for each question: the chosen tables, as ``[database, table]`` in any case."""
    dataset = load(run["corpus"])
    ids = {str(table_id).lower(): table_id for table_id in dataset.corpus.ids}
    for query, line in zip(dataset.queries, text.splitlines(), strict=True):
        names = (f"{database}/{table}".lower() for database, table in json.loads(line))
        chosen = dict.fromkeys(ids[name] for name in names if name in ids)
        yield {"query_id": query.id, "tables": [list(table_id) for table_id in chosen]}


def _csv(text: str, run: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    queries = load(run["corpus"]).queries
    for query, row in zip(queries, csv.DictReader(text.splitlines(keepends=True)), strict=True):
        yield {"query_id": query.id, "answer": row["PREDICTED SQL"]}


def _tables(_: str, run: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    model = Path(run["file"]).name.partition(".")[0]
    for query_id, answer in answers_of(_data() / "rotowire", model, run["corpus"]).items():
        yield {"query_id": query_id, "answer": answer}


_READ = {"sets": _sets, "csv": _csv, "tables": _tables}


if __name__ == "__main__":
    main()
