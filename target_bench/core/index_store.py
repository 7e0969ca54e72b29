"""Indexes that ``TableSearch`` saves and loads: whole, and of one retriever and corpus alone.

A folder holds ``data/``, what the retriever's ``save`` wrote, and ``index.json``: a hash of
retriever and corpus, and the SHA-256 of every file. It is renamed when all of it is on disk.
"""

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from target_bench.core.contract import Retriever
from target_bench.core.errors import (
    PASSED_ON,
    ConfigError,
    DataError,
    StoreError,
    TargetBenchError,
    reason,
)
from target_bench.core.files import hash_file, parse_json, sync
from target_bench.core.identity import plugin_identity
from target_bench.core.plugin_errors import plugin_error
from target_bench.core.schema import Corpus

FORMAT = 6
"""The version of the layout and of identities; a folder of another version is refused."""

_INDEX = "index.json"
_DATA = "data"
_AGAIN = "delete the folder and save the index again"


def save_index(retriever: Any, corpus: Corpus, folder: str | Path) -> None:
    """Save the index that a retriever has built of a corpus.

    Raises:
        ConfigError: the retriever cannot save its index, or cannot be identified.
        DataError: the folder is there already.
        PluginError: ``save`` raised.
        StoreError: the folder cannot be written.
    """
    folder = Path(folder).resolve()
    _check_hooks(retriever)
    record: dict[str, Any] = {"format": FORMAT, "made_of": _hash_origin(retriever, corpus)}
    if folder.exists():
        raise DataError(f"{folder} exists: delete it, or save into another folder")
    whole = folder.with_name(f".{folder.name}.new")  # beside it, so that it can be renamed
    data = whole / _DATA
    try:
        with _store_errors(folder):
            shutil.rmtree(whole, ignore_errors=True)  # of a killed process
            data.mkdir(parents=True)
        with _hook_errors(retriever, "save", folder):
            retriever.save(data)
        with _store_errors(folder):
            files = sorted(path for path in data.rglob("*") if path.is_file())
            record["files"] = {p.relative_to(data).as_posix(): hash_file(p) for p in files}
            (whole / _INDEX).write_text(json.dumps(record, indent=2) + "\n", encoding="ascii")
            sync(whole)
            whole.rename(folder)
    finally:
        shutil.rmtree(whole, ignore_errors=True)


def load_index(retriever: Any, corpus: Corpus, folder: str | Path) -> None:
    """Load an index, in place of ``embed_corpus``.

    Raises:
        ConfigError: the retriever cannot load an index, or cannot be identified.
        DataError: there is no index, it is damaged, or it is of something else.
        PluginError: ``load`` raised.
    """
    folder = Path(folder).resolve()
    _check_hooks(retriever)
    _check_index(folder, _hash_origin(retriever, corpus))
    with _hook_errors(retriever, "load", folder):
        retriever.load(folder / _DATA, corpus.copy_for_retriever())


def _check_hooks(retriever: object) -> None:
    for name in ("save", "load"):
        is_inherited = getattr(type(retriever), name, None) is getattr(Retriever, name)
        if is_inherited or not callable(getattr(retriever, name, None)):
            raise _lacks_hooks(retriever)


def _lacks_hooks(retriever: object) -> ConfigError:
    return ConfigError(
        f"{type(retriever).__name__} cannot save or load its index: give it the methods "
        "save(folder) and load(folder, corpus); bm25, dense and hybrid of them have these"
    )


@contextmanager
def _hook_errors(retriever: object, hook: str, folder: Path) -> Iterator[None]:
    name = type(retriever).__name__
    try:
        with _store_errors(folder, f"{name} cannot {hook} its index"):
            yield
    except NotImplementedError as error:
        raise _lacks_hooks(retriever) from error
    except (*PASSED_ON, TargetBenchError):
        raise
    except BaseException as error:
        raise plugin_error(error, name, hook) from error


@contextmanager
def _store_errors(folder: Path, fault: str = "the index cannot be written") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{folder}: {fault} ({reason(error)}). Make room, fix the permissions of the folder, "
            "or save into another one."
        ) from error


def _hash_origin(retriever: object, corpus: Corpus) -> str:
    """Return a hash of retriever and corpus."""
    identity, warning = plugin_identity(retriever)
    if warning:
        raise ConfigError(
            f"{type(retriever).__name__} cannot be identified, so a saved index could not be "
            "matched with it. Keep constructor arguments as attributes of the same names with JSON "
            "values, or define config(); define the class in a file."
        )
    return sha256(json.dumps([identity, corpus.fingerprint], sort_keys=True).encode()).hexdigest()


def _check_index(folder: Path, origin: str) -> None:
    """Check that an index is of this origin, and that its files are as they were saved."""
    path = folder / _INDEX
    try:
        record = dict(parse_json(path.read_bytes()))
        files = dict(record["files"])
    except FileNotFoundError as error:
        raise DataError(
            f"{folder}: there is no index here (no {_INDEX}); TableSearch.save makes one"
        ) from error
    except (KeyError, OSError, TypeError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({reason(error)}); {_AGAIN}") from error
    if record.get("format") != FORMAT:
        raise DataError(f"{path}: of another version of target-bench; {_AGAIN}")
    if record.get("made_of") != origin:
        raise DataError(
            f"{folder}: the index is for other tables, or another retriever, settings or code. "
            "Load it with those it was saved for, or save a new one in another folder."
        )
    paths = [folder / _DATA / name for name in files]
    with ThreadPoolExecutor() as threads:
        hashes = list(threads.map(lambda each: each.is_file() and hash_file(each), paths))
    for each, saved, now in zip(paths, files.values(), hashes, strict=True):
        if now != saved:
            raise DataError(f"{each}: missing or damaged; {_AGAIN}")
