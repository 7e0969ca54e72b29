"""Data of corpora fetched on first use: pinned, verified byte by byte, used offline after.

A download lies in ``<cache>/downloads/<corpus>-<pin>/``. A file gets its name when it is whole, and
must have the hash of its pin (``pins/<repository>.txt`` for GitHub), on the hub that which the hub
states for the commit. ``source.json`` (sealed) records commits, files, sizes and SHA-256, with
which whatever reads the files compares them. An interrupted download resumes with what is missing.
"""

import hashlib
import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from target_bench.core.credentials import without_secrets
from target_bench.core.declarations import MAIN, GitHub, Hub, Source
from target_bench.core.errors import ConfigError, DataError, StoreError, TargetBenchError
from target_bench.core.files import (
    CACHE_VARIABLE,
    add_seal,
    atomic_write,
    cache_root,
    exclusive_lock,
    parse_json,
    remove_seal,
)
from target_bench.core.observer import Observer, Progress
from target_bench.core.schema import CorpusInfo

if TYPE_CHECKING:
    from requests import Response, Session

OFFLINE = "HF_HUB_OFFLINE"
"""The variable that forbids downloads; ``--offline`` sets it."""

GITHUB_RAW = "TARGET_BENCH_GITHUB_RAW"
"""The variable that names another address for ``https://raw.githubusercontent.com``."""

HUB = "HF_ENDPOINT"
"""The variable that names another address for ``https://huggingface.co``."""

PINS = Path(__file__).with_name("pins")
"""The folder with the pins of files on GitHub."""

_RECORD = "source.json"
_PARALLEL = 8  # more make raw.githubusercontent.com refuse requests
_BACKOFF = 0.5  # seconds between two requests after a refusal, then twice as long each time
_TIMEOUT = (15, 30)  # seconds to connect, and between two pieces
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Download:
    """Splits of a corpus that are whole."""

    name: str
    folder: Path
    commits: Mapping[str, str] = field(default_factory=dict)  # by repository
    splits: Mapping[str, Sequence[str]] = field(default_factory=dict)  # their paths in the folder
    files: Mapping[str, tuple[int, str]] = field(default_factory=dict)  # size and SHA-256 by path
    fetched: tuple[str, ...] = ()  # just now


def is_offline() -> bool:
    """Return whether downloads are forbidden."""
    return os.environ.get(OFFLINE, "").strip().upper() in ("1", "ON", "YES", "TRUE")


def find_download(info: CorpusInfo, split: str) -> Path | None:
    """Find the folder of a download that has a whole split, by the sizes of its files."""
    if not info.sources(split):
        return None
    folder = _folder(info)
    record = _read_record(folder)
    if record is None or split not in record.splits:
        return None
    try:
        sizes = [(folder / path).stat().st_size for path in record.splits[split]]
    except OSError:
        return None
    return folder if sizes == [record.files[path][0] for path in record.splits[split]] else None


def verify_files(folder: Path, files: Mapping[str, str]) -> None:
    """Verify that files of a download, by path and SHA-256, are as they were fetched."""
    record = _read_record(folder)
    if record is None:
        return
    for path, sha256 in files.items():
        if path in record.files and record.files[path][1] != sha256:
            raise DataError(
                f"{folder / path}: damaged (not what was fetched). Fetch it again: target-bench "
                f"data pull {record.name}"
            )


def fetch(
    info: CorpusInfo, splits: Sequence[str] | None = None, observer: Observer | None = None
) -> Download:
    """Fetch splits of a corpus: what is missing or damaged, verified byte by byte."""
    name = info.title if info.title.startswith("hf:") else info.name  # as a command names it
    splits = tuple(splits or info.fetched_splits)
    if not splits:
        raise ConfigError(
            f"{name} cannot be fetched; `target-bench describe corpus {name}` says where its files "
            "are from."
        )
    for split in splits:
        if not info.sources(split):
            raise ConfigError(
                f"{name} {split} cannot be fetched; name one of {', '.join(info.fetched_splits)}"
            )
    if is_offline():
        raise ConfigError(
            f"{name} {', '.join(splits)}: nothing is downloaded because {OFFLINE} or --offline is "
            "set."
        )
    folder = _folder(info)
    needed: dict[str, _File] = {}
    here: dict[str, tuple[int, str]] = {}  # path -> size, SHA-256
    lock = folder.with_name(f"{folder.name}.lock")
    with _report_progress_on_error(folder, needed, here), exclusive_lock(lock, _say_waiting):
        before = _read_record(folder) or Download(name, folder)
        listed = {split: _list_files(info.sources(split), before) for split in splits}
        needed |= {file.path: file for files in listed.values() for file in files}
        for file in needed.values():
            try:
                here[file.path] = _verify(folder / file.path, file)
            except FileNotFoundError:
                continue
            except DataError as damage:
                _say(f"{damage} It is fetched again.")
        missing = [file for path, file in needed.items() if path not in here]
        commits = {file.repository: file.commit for file in needed.values()}
        if missing:
            origin = ", ".join(f"{repository}@{c[:7]}" for repository, c in commits.items())
            size = sum(file.size or 0 for file in missing)
            _say(
                f"{name} {', '.join(splits)}: fetching {len(missing):,} files, {_to_mb(size)}, of "
                f"{origin} into {folder}"
            )
            (observer := observer or Progress()).stage(f"fetch {name} (kB)", size // 1000 or None)
            _fetch_files(folder, missing, here, observer)
        done = Download(
            name,
            folder,
            {**before.commits, **commits},
            {**before.splits, **{s: [file.path for file in listed[s]] for s in splits}},
            {**before.files, **here},
            tuple(file.path for file in missing),
        )
        record = {k: v for k, v in asdict(done).items() if k not in ("folder", "fetched")}
        atomic_write(folder / _RECORD, json.dumps(add_seal(record), indent=1).encode())
    return done


def _folder(info: CorpusInfo) -> Path:
    of_splits = (source.pin for split in info.splits for source in info.sources(split))
    pins = list(dict.fromkeys(of_splits))  # those of a data set of the hub are of all splits
    pin = hashlib.sha256(repr(pins).encode()).hexdigest()[:8]
    return cache_root() / "downloads" / f"{info.name}-{pin}"


def _read_record(folder: Path) -> Download | None:
    """Return what ``source.json`` says; None if it is not there or damaged."""
    try:
        record = remove_seal(parse_json((folder / _RECORD).read_bytes()))
        files = {path: (size, sha256) for path, (size, sha256) in record["files"].items()}
        return Download(record["name"], folder, record["commits"], record["splits"], files)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


# Which files a source has


class _File(NamedTuple):
    """A file on the web: its size, if that is known, and its SHA-256 or git blob id."""

    repository: str
    commit: str
    path: str  # in the folder of the corpus
    url: str
    size: int | None
    hash: str
    on_hub: bool = False


def _list_files(sources: Sequence[Source], before: Download) -> list[_File]:
    """List the files of a split, those of the hub at the commit that was fetched before."""
    return [
        file
        for source in sources
        for file in (
            _list_pinned(source)
            if isinstance(source, GitHub)
            else _list_hub(source, before.commits.get(source.repository, source.revision))
        )
    ]


def _matches(path: str, source: Source) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in source.patterns)


def _list_pinned(source: GitHub) -> list[_File]:
    server = os.environ.get(GITHUB_RAW, "https://raw.githubusercontent.com").rstrip("/")
    root = f"{server}/{source.repository}/{source.commit}"
    pins = (PINS / f"{source.repository.rpartition('/')[2]}.txt").read_text(encoding="utf-8")
    return [
        _File(
            source.repository,
            source.commit,
            source.locate(path),
            f"{root}/{quote(path)}",
            None if size == "-" else int(size),
            pinned,
        )
        for pinned, size, path in (line.split(" ", 2) for line in pins.splitlines())
        if _matches(path, source)
    ]


def _list_hub(source: Hub, revision: str) -> list[_File]:
    from huggingface_hub import HfApi

    api = HfApi(os.environ.get(HUB))
    address = f"{api.endpoint}/datasets/{source.repository}"
    with _explain_errors(address):
        if revision != MAIN and len(revision) < 40:  # the hub takes no abbreviation
            commits = api.list_repo_commits(source.repository, repo_type="dataset")
            whole = [c.commit_id for c in commits if c.commit_id.startswith(revision)]
            if not whole:
                raise DataError(f"{address}: there is no commit {revision}")
            revision = whole[0]
        answer = api.dataset_info(source.repository, revision=revision, files_metadata=True)
    commit = str(answer.sha)
    if revision not in (MAIN, commit):
        raise DataError(f"{address}: answers with commit {commit}, not {revision}")
    files = []
    for item in answer.siblings or ():
        name, size = item.rfilename, item.size
        if not _matches(name, source) or name.startswith((".", "README")):
            continue
        # A hostile listing must not write outside of the folder, or on the terminal.
        if (
            ".." in name
            or name.startswith("/")
            or not (name.isprintable() and isinstance(size, int))
        ):
            raise DataError(f"{address}: the hub lists {name!r} of {size} bytes")
        pinned = item.lfs.sha256 if item.lfs else str(item.blob_id)
        url = f"{address}/resolve/{commit}/{quote(name)}"
        files.append(_File(source.repository, commit, source.locate(name), url, size, pinned, True))
    if not files:
        raise DataError(f"{address}: has no {' or '.join(source.patterns)} at commit {commit}")
    return files


# Fetching and verifying


def _verify(path: Path, file: _File) -> tuple[int, str]:
    """Return size and SHA-256 of a file that is what it should be; another one is removed."""
    size = path.stat().st_size
    sha256 = hashlib.sha256()
    blob = hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as content:
        while block := content.read(_BLOCK):
            sha256.update(block)
            blob.update(block)
    actual = sha256 if len(file.hash) == 64 else blob  # git's hash of a file is that of a "blob"
    if actual.hexdigest() == file.hash:
        return size, sha256.hexdigest()
    path.unlink()
    stated = "unknown" if file.size is None else f"{file.size:,}"
    raise DataError(
        f"{path} is damaged: expected {stated} bytes with hash {file.hash}, found {size:,} with "
        f"{actual.hexdigest()}."
    )


class _StoppedError(Exception):
    """Another file failed, or the user interrupted."""


def _fetch_files(
    folder: Path,
    missing: Sequence[_File],
    here: dict[str, tuple[int, str]],
    observer: Observer,
) -> None:
    """Fetch files side by side and note them in ``here``; the first error ends it."""
    import requests

    session = _make_session()
    received, counting, stopped = 0, threading.Lock(), threading.Event()
    answers: set[Response] = set()  # that are being read

    def blocks(answer: "Response") -> Iterator[bytes]:
        nonlocal received
        for block in answer.iter_content(_BLOCK):
            if stopped.is_set():
                raise _StoppedError
            with counting:
                observer.advance((received + len(block)) // 1000 - received // 1000)
                received += len(block)
            yield block

    def save(file: _File) -> None:
        headers = {}
        if file.on_hub:
            from huggingface_hub import get_token

            if token := get_token():  # ``requests`` drops it on the way to another host
                headers = {"Authorization": f"Bearer {token}"}
        with session.get(file.url, headers=headers, stream=True, timeout=_TIMEOUT) as answer:
            answer.raise_for_status()
            answers.add(answer)
            try:
                atomic_write(folder / file.path, blocks(answer), durable=False)
            finally:
                answers.discard(answer)

    def fetch_one(file: _File) -> None:
        with _explain_errors(file.url):
            try:
                save(file)
            except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError):
                if stopped.is_set():
                    raise _StoppedError from None
                save(file)  # lost amid the content, which no Retry sees
        here[file.path] = _verify(folder / file.path, file)

    pool = ThreadPoolExecutor(_PARALLEL, "fetch")
    # Large files first: what is left at the end is short.
    jobs = [pool.submit(fetch_one, f) for f in sorted(missing, key=lambda f: -(f.size or 0))]
    try:
        for job in as_completed(jobs):
            job.result()
    finally:
        stopped.set()
        for answer in tuple(answers):  # else a server that says nothing is waited for
            with suppress(Exception):  # it just ended, or urllib3 is older than 2.3
                answer.raw.shutdown()
        pool.shutdown(cancel_futures=True)
        observer.finished()


def _make_session() -> "Session":
    """Return a session that tries again."""
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3.util import Retry

    retry = Retry(
        4,
        connect=1,
        read=1,
        backoff_factor=_BACKOFF,
        status_forcelist=(429, 500, 502, 503, 504),
        raise_on_status=False,
        respect_retry_after_header=False,  # it may ask to wait for hours
    )
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(pool_maxsize=_PARALLEL, max_retries=retry))
    return session


# Messages


@contextmanager
def _explain_errors(url: str) -> Iterator[None]:
    """Raise errors of the clients, which are of many types, as errors that say what to do."""
    try:
        yield
    except (TargetBenchError, _StoppedError):
        raise
    except Exception as error:
        response = getattr(error, "response", None)
        if type(error).__module__ == "builtins" and isinstance(error, OSError):
            raise  # of the disk
        url, reason = without_secrets(url), " ".join(f"{type(error).__name__}: {error}".split())
        if response is None:
            raise DataError(
                f"{url}: cannot be fetched ({without_secrets(reason)}). Check the network and "
                f"proxies (HTTPS_PROXY); ${GITHUB_RAW} and ${HUB} name other addresses. To get the "
                "files by other means: target-bench run with --offline lists them, and where to "
                "put them."
            ) from error
        if response.status_code in (401, 403):
            raise ConfigError(
                f"{url}: access was refused (status {response.status_code}). If it is on the "
                "Hugging Face hub, set HF_TOKEN to a token that may read it."
            ) from error
        raise DataError(
            f"{url}: the server answered with status {response.status_code}. Try again later."
        ) from error


@contextmanager
def _report_progress_on_error(
    folder: Path, needed: Mapping[str, _File], here: Mapping[str, tuple[int, str]]
) -> Iterator[None]:
    """End errors with how much is here, and that the same command resumes."""

    def progress() -> str:
        size = sum(size for size, _ in here.values())
        whole = sum(file.size or 0 for file in needed.values())
        return (
            f" {len(here):,} of {len(needed):,} files ({_to_mb(size)} of {_to_mb(whole)}) are in "
            f"{folder}; run the same command again to resume."
        )

    try:
        yield
    except TargetBenchError as error:
        raise type(error)(f"{error}{progress() if needed else ''}") from error
    except OSError as error:
        raise StoreError(
            f"{error.filename or folder} cannot be read or written: {error.strerror or error}. "
            f"Make room, or name another folder with ${CACHE_VARIABLE}.{progress()}"
        ) from error
    except KeyboardInterrupt:
        _say(f"Interrupted.{progress()}")
        raise


def _to_mb(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def _say(line: str) -> None:
    sys.stderr.write(f"{without_secrets(line)}\n")


def _say_waiting(_: object) -> None:
    _say("Another process fetches this corpus; waiting for it.")
