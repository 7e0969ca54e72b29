"""Indexes that ``TableSearch`` saves and loads: whole, and of one retriever and corpus alone.

A folder holds ``data/``, what the retriever's ``save`` wrote, and ``index.json``: retriever
(class, settings, version or code), fingerprint of the corpus, and SHA-256 of every file.
It is made under another name and renamed when all of it is on disk.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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

FORMAT = 5
"""The version of the layout and of identities; a folder of another version is refused."""

_INDEX = "index.json"
_DATA = "data"
_AGAIN = "delete the folder and index again"


def save_index(retriever: Any, corpus: Corpus, folder: str | Path) -> None:
    """Save the index that a retriever has built of a corpus.

    An index of the same retriever and corpus is replaced. One process at a time may save into a
    folder.

    Raises:
        ConfigError: the retriever cannot save its index, or cannot be identified.
        DataError: the folder holds something else.
        PluginError: ``save`` raised.
        StoreError: the folder cannot be written.
    """
    folder = Path(folder).resolve()
    _check_hooks(retriever)
    record = _make_record(retriever, corpus)
    _check_replaceable(folder, record)
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
            _replace_folder(whole, folder)
    finally:
        shutil.rmtree(whole, ignore_errors=True)


def load_index(retriever: Any, corpus: Corpus, folder: str | Path) -> None:
    """Load an index, in place of ``embed_corpus``.

    Raises:
        ConfigError: the retriever cannot load an index, or cannot be identified.
        DataError: there is no index, it is broken, or it is of something else; the message says
            what differs.
        PluginError: ``load`` raised.
    """
    folder = Path(folder).resolve()
    _check_hooks(retriever)
    expected = _make_record(retriever, corpus)
    record = _read_record(folder)
    differences = _list_differences(record, expected)
    if differences:
        raise DataError(
            f"{folder}: the index is for another retriever or corpus. {'; '.join(differences)}. "
            "Load it with those it was saved for, or save a new index in another folder."
        )
    _check_files(folder, record)
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


def _make_record(retriever: object, corpus: Corpus) -> dict[str, Any]:
    """Return what tells whose index it is: retriever and corpus."""
    identity, warning = plugin_identity(retriever)
    if warning:
        raise ConfigError(
            f"{type(retriever).__name__} cannot be identified, so a saved index could not be "
            "matched with it. Keep constructor arguments as attributes of the same names with JSON "
            "values, or define config(); define the class in a file."
        )
    return {
        "format": FORMAT,
        "retriever": identity,
        "corpus": {"fingerprint": corpus.fingerprint, "tables": len(corpus)},
    }


def _read_record(folder: Path) -> dict[str, Any]:
    path = folder / _INDEX
    try:
        record = parse_json(path.read_bytes())
    except FileNotFoundError as error:
        what = "there is no index here" if folder.is_dir() else "there is no such folder"
        raise DataError(f"{folder}: {what} (no {_INDEX}); TableSearch.save makes one") from error
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({reason(error)}); {_AGAIN}") from error
    version = record.get("format") if isinstance(record, dict) else None
    if version != FORMAT:
        raise DataError(
            f"{path}: format {version!r}, and this version of target-bench reads {FORMAT}; {_AGAIN}"
        )
    return dict(record)


def _list_differences(
    recorded: Mapping[str, Any], expected: Mapping[str, Any], prefix: str = ""
) -> list[str]:
    """List a sentence for each entry in which an index differs from what is expected."""
    differences = []
    names = [*expected]
    if prefix:  # a setting that the index alone has is a difference, too
        names += sorted(recorded.keys() - expected.keys())
    for name in names:
        ours, theirs = expected.get(name), recorded.get(name)
        if isinstance(ours, dict) and isinstance(theirs, dict):
            differences += _list_differences(theirs, ours, f"{prefix}{name}.")
        elif ours != theirs:
            differences.append(f"{prefix}{name}: {theirs!r} there, {ours!r} here")
    return differences


def _check_files(folder: Path, record: Mapping[str, Any]) -> None:
    files = record.get("files")
    if not isinstance(files, dict):
        raise DataError(f"{folder / _INDEX}: lists no files; {_AGAIN}")
    paths = [folder / _DATA / name for name in files]
    for path in paths:
        if not path.is_file():
            raise DataError(f"{path}: missing; {_AGAIN}")
    with ThreadPoolExecutor() as threads:
        hashes = list(threads.map(hash_file, paths))
    for path, sha256, digest in zip(paths, files.values(), hashes, strict=True):
        if digest != sha256:
            raise DataError(f"{path}: damaged (not the content that was saved); {_AGAIN}")


def _check_replaceable(folder: Path, record: Mapping[str, Any]) -> None:
    """Refuse a folder that is not empty and holds anything but an index of the same."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    elsewhere = "Save into another folder, or delete this one first."
    try:
        differences = _list_differences(_read_record(folder), record)
    except DataError as error:
        raise DataError(f"{folder} is not empty, and holds no usable index. {elsewhere}") from error
    if differences:
        raise DataError(
            f"{folder} holds an index for another retriever or corpus. {'; '.join(differences)}. "
            f"{elsewhere}"
        )


def _replace_folder(whole: Path, folder: Path) -> None:
    """Rename a finished index to its name; an earlier one of this name is removed."""
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.replace(old)
    try:
        whole.replace(folder)
    except OSError:
        if old.exists():
            old.replace(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)
