"""A baseline file: the scores of a run in one small JSON file, to keep under version control."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from target_bench.core.errors import ConfigError, DataError, StoreError, reason
from target_bench.core.files import atomic_write, parse_json
from target_bench.core.text_tables import count_noun
from target_bench.runs.find import find_run
from target_bench.runs.manifest import read_key
from target_bench.runs.result import Result, read_main_metric
from target_bench.runs.score_files import PER_QUERY, STATISTICS

FORMAT = 1
_TEXT_FILES = ("manifest.json", "scores.json")
_BINARY_FILES = (PER_QUERY, STATISTICS)
_READ_ERRORS = (OSError, ValueError, KeyError, TypeError, AttributeError, StoreError)


def write_baseline(result: Result, path: Path) -> None:
    """Write the manifest, the scores and the values of every query of a run.

    Rankings, answers and judgements are left out, so the file is small: about 56 KB for 280
    queries and 30 metrics.
    """
    if path.suffix != ".json":
        raise ConfigError(f"{path}: the name of a baseline file ends in .json")
    document = _to_document(result)
    _check_failures(result, path)
    try:
        atomic_write(path, (json.dumps(document, indent=1) + "\n").encode())
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be written ({reason(error)}); name another file"
        ) from error


def _to_document(result: Result) -> dict[str, Any]:
    read_main_metric(result)  # raises if there are no scores
    if result.run.problem is not None:
        raise StoreError(f"{result.folder}: damaged: {result.run.problem}")
    files = {name: (result.folder / name).read_text(encoding="utf-8") for name in _TEXT_FILES}
    for name in _BINARY_FILES:
        if (result.folder / name).exists():
            files[name] = base64.b64encode((result.folder / name).read_bytes()).decode()
    document = {"target_bench_baseline": FORMAT, "run": result.folder.name, "files": files}
    rankings = result.rankings_result
    if rankings is not result:
        text = (rankings.folder / "manifest.json").read_text(encoding="utf-8")
        document["rankings"] = {"run": rankings.folder.name, "manifest.json": text}
    return document


def _check_failures(result: Result, path: Path) -> None:
    """Refuse a baseline of failures: it would let the next ones pass."""
    failed, n = result.stored.n_failed, count_noun(result.stored.n_queries, "query")
    mend = f"fix the cause (target-bench runs show {result.folder}) and run it again"
    if failed and failed == result.stored.n_queries:
        raise ConfigError(f"{result.folder} cannot be a baseline: it failed on all of {n}; {mend}")
    try:
        scores = parse_json(parse_json(path.read_bytes())["files"]["scores.json"])
        before = int((scores.get("answers") or scores["counts"])["failed"])
    except _READ_ERRORS:
        return  # no earlier baseline
    if failed > before:
        raise ConfigError(
            f"{path} was kept: {result.folder} failed on {failed} of {n}, the run in it on "
            f"{before}; {mend}, or remove {path} to write it anyway"
        )


@contextmanager
def open_baseline(name: str | Path, root: Path, checked: Path) -> Iterator[Path]:
    """Yield the folder of a baseline: a stored run, or the unpacked file of ``write_baseline``.

    ``checked`` is the folder of the run that is compared with it.
    """
    path = Path(name)
    with TemporaryDirectory(prefix="target-bench-baseline-") as scratch:
        if path.suffix != ".json":
            folder = find_run(name, root)
            if folder.samefile(checked):  # a reused run: a comparison needs two folders
                folder = _unpack(_to_document(Result(folder)), Path(scratch))
            yield folder
            return
        update = f"target-bench gate {path} --run RUN --update"
        if not path.is_file():
            raise ConfigError(f"{path}: there is no such file; write it with {update}")
        try:
            folder = _unpack(parse_json(path.read_bytes()), Path(scratch))
        except _READ_ERRORS as error:
            raise StoreError(
                f"{path}: is not a baseline file ({error}); write it again with {update}"
            ) from error
        try:
            yield folder
        except DataError as error:  # the user knows the file, and not its copy
            raise DataError(str(error).replace(str(folder), str(path))) from error
        except StoreError as error:
            if str(folder) not in str(error):
                raise
            problem = str(error).replace(str(folder), folder.name).partition("; ")[0]
            raise StoreError(
                f"{path}: damaged ({problem}); write it again with {update}"
            ) from error


def _unpack(document: dict[str, Any], scratch: Path) -> Path:
    """Write the files of a baseline into folders of runs, and return the folder of its run."""
    if document["target_bench_baseline"] != FORMAT:
        raise ValueError(f"format {document['target_bench_baseline']!r}, expected {FORMAT}")
    for file in _TEXT_FILES:
        if file not in document["files"]:
            raise ValueError(f"files: no {file}")
    runs = {document["run"]: dict(document["files"])}
    if (rankings := document.get("rankings")) is not None:
        runs[rankings["run"]] = {"manifest.json": rankings["manifest.json"]}
    for name, files in runs.items():
        if read_key(Path(name)) is None or Path(name).name != name:  # a path out of scratch
            raise ValueError(f"run: {name!r:.80} is not the name of a run")
        (scratch / name).mkdir()
        for file in files.keys() & {*_TEXT_FILES, *_BINARY_FILES}:
            text = files[file]
            is_text = file in _TEXT_FILES
            content = text.encode() if is_text else base64.b64decode(text, validate=True)
            (scratch / name / file).write_bytes(content)
    return scratch / str(document["run"])
