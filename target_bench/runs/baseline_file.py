"""The scores of a run in one small JSON file, which stands under version control as a baseline."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.files import atomic_write, parse_json
from target_bench.runs.find import find
from target_bench.runs.manifest import key_of
from target_bench.runs.result import Result

FORMAT = 1
_TEXT = ("manifest.json", "scores.json")
_BINARY = ("per_query.parquet", "statistics.parquet")


def write_baseline(run: Result, path: Path) -> None:
    """Write the manifest, the scores and the values of every query of a run.

    Rankings, answers and judgements are left out, so the file is small: about 56 KB for 280
    queries and 30 metrics.

    Args:
        run: a run with scores.
        path: the file, which ends in ``.json``; replaced if it is there.

    Raises:
        ConfigError: the name of the file does not end in ``.json``.
        StoreError: the run has no scores, is damaged, or the file cannot be written.
    """
    if path.suffix != ".json":
        raise ConfigError(f"{path}: the name of a baseline file ends in .json")
    run.headline  # noqa: B018 (a run without scores is refused)
    if run.problem is not None:
        raise StoreError(f"{run.folder}: damaged: {run.problem}")
    files = {name: (run.folder / name).read_text(encoding="utf-8") for name in _TEXT}
    for name in _BINARY:
        if (run.folder / name).exists():
            files[name] = base64.b64encode((run.folder / name).read_bytes()).decode()
    document = {"target_bench_baseline": FORMAT, "run": run.folder.name, "files": files}
    try:
        atomic_write(path, (json.dumps(document, indent=1) + "\n").encode())
    except OSError as error:
        raise StoreError(f"{path}: cannot be written ({error}); name another file") from error


@contextmanager
def opened_baseline(name: str | Path, root: Path, run: Path) -> Iterator[Path]:
    """Give the folder of a baseline: a stored run, or a file of ``write_baseline`` unpacked.

    Args:
        name: a file that ends in ``.json``, or a run as ``find`` takes it.
        root: the folder of all runs.
        run: the run that is compared with it; the baseline is a copy where it is this run itself.

    Raises:
        ConfigError: there is no such file or run.
        StoreError: the file is not a baseline, or cannot be read.
    """
    path = Path(name)
    if path.suffix != ".json":
        stored = find(name, root)
        if not stored.samefile(run):
            yield stored
            return
        with TemporaryDirectory(prefix="target-bench-baseline-") as scratch:
            written = Path(scratch) / "baseline.json"
            write_baseline(Result(stored), written)
            yield _unpacked(parse_json(written.read_bytes()), Path(scratch))
        return
    if not path.is_file():
        raise ConfigError(
            f"{path}: there is no such file; write it with target-bench gate {path} --run RUN "
            "--update"
        )
    again = f"write it again with target-bench gate {path} --run RUN --update"
    with TemporaryDirectory(prefix="target-bench-baseline-") as scratch:
        try:
            folder = _unpacked(parse_json(path.read_bytes()), Path(scratch))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(f"{path}: is not a baseline file ({error}); {again}") from error
        try:
            yield folder
        except StoreError as error:
            if str(folder) not in str(error):
                raise
            problem, _, _ = str(error).replace(str(folder), folder.name).partition("; ")
            raise StoreError(f"{path}: damaged ({problem}); {again}") from error


def _unpacked(document: dict[str, object], scratch: Path) -> Path:
    if document["target_bench_baseline"] != FORMAT:
        raise ValueError(f"format {document['target_bench_baseline']!r}, expected {FORMAT}")
    name, files = document["run"], document["files"]
    if not isinstance(name, str) or key_of(Path(name)) is None or Path(name).name != name:
        raise ValueError(f"run: {name!r:.80} is not the name of a run")
    folder = scratch / name
    folder.mkdir()
    if not isinstance(files, dict):
        raise TypeError("files: expected an object")
    for file in _TEXT:
        (folder / file).write_text(files[file], encoding="utf-8")
    for file in _BINARY:
        if file in files:
            (folder / file).write_bytes(base64.b64decode(files[file], validate=True))
    return folder
