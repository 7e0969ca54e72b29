"""Data of corpora fetched by name on first use: pinned, verified byte by byte, used offline after.

A download lies in ``<cache>/downloads/<corpus>-<pin>/``; other pins lie elsewhere. A file gets its
name when its size and hash are those of its pin (``sources``) or, on the Hugging Face hub, those
that the hub states for the commit. Until then it is ``NAME.part``, from which an interrupted
download goes on. ``source.json`` (sealed) is written when a split is whole: commits, files, sizes
and SHA-256. Whatever reads the files compares them with it (``check``).

Plain HTTPS by ``requests`` does it, for both kinds of sources. pooch cannot resume or fetch in
parallel and knows no git blob ids; huggingface_hub knows the hub alone and brings a dozen packages.
"""

import hashlib
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlsplit

from target_bench.core import registry, unknown_names
from target_bench.core.errors import ConfigError, DataError, StoreError, TargetBenchError
from target_bench.core.files import (
    CACHE_VARIABLE,
    atomic_write,
    cache_root,
    exclusive_lock,
    parse_json,
    sealed,
    unsealed,
)
from target_bench.core.observer import Observer
from target_bench.core.settings import without_secrets
from target_bench.data.sources import MAIN, SOURCES, GitHubSource, HubPart, RemoteFile

if TYPE_CHECKING:
    from requests import Response

T = TypeVar("T")

OFFLINE = "HF_HUB_OFFLINE"
"""The variable that forbids downloads; ``--offline`` sets it."""

GITHUB_RAW = "TARGET_BENCH_GITHUB_RAW"
"""The variable that names another address for ``https://raw.githubusercontent.com``."""

HUB = "HF_ENDPOINT"
"""The variable that names another address for ``https://huggingface.co``."""

SOURCE = "source.json"
_FORMAT = 2
_PARALLEL = 8  # more make raw.githubusercontent.com refuse requests
_ATTEMPTS = 4
_BACKOFF = 0.5  # seconds before the second attempt; then twice as long each time
_LONGEST_WAIT = 60.0  # seconds that a server may ask us to wait
_TIMEOUT = (15, 30)  # seconds to connect, and between two pieces
_BLOCK = 1 << 16
_TICK = 0.2  # seconds between two moves of the bar


@dataclass(frozen=True, slots=True)
class Download:
    """Splits of a corpus that are whole.

    Attributes:
        name: the corpus.
        folder: where it lies.
        commits: repository -> commit.
        splits: split -> its files, by their path in the folder.
        files: path in the folder -> (size, SHA-256).
        fetched: the files that were fetched just now.
    """

    name: str
    folder: Path
    commits: Mapping[str, str] = field(default_factory=dict)
    splits: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    fetched: tuple[str, ...] = ()


def splits_of(name: str) -> tuple[str, ...]:
    """Return the splits of a corpus that can be fetched; none for an unknown one."""
    return tuple(SOURCES[name].splits) if name in SOURCES else ()


def is_offline() -> bool:
    """Return whether downloads are forbidden."""
    return os.environ.get(OFFLINE, "").strip().upper() in ("1", "ON", "YES", "TRUE")


def ready(name: str, split: str) -> Path | None:
    """Return the folder of a download that has a whole split, by the sizes of its files."""
    if split not in splits_of(name):
        return None
    folder = _folder(name)
    record = _recorded(folder)
    if record is None or split not in record.splits:
        return None
    for path in record.splits[split]:
        try:
            if (folder / path).stat().st_size != record.files[path][0]:
                return None
        except OSError:
            return None
    return folder


def check(folder: Path, files: Mapping[str, str]) -> None:
    """Check that files of a download are as they were fetched; other folders are not checked.

    Args:
        folder: where the files were read.
        files: SHA-256 of those that were read, by their path in the folder.

    Raises:
        DataError: one is not.
    """
    record = _recorded(folder)
    if record is None:
        return
    for path, sha256 in files.items():
        if path in record.files and record.files[path][1] != sha256:
            raise DataError(
                f"{folder / path}: damaged (not what was fetched). Fetch it again: target-bench "
                f"data pull {record.name}"
            )


def fetch(
    name: str, splits: Sequence[str] | None = None, observer: Observer | None = None
) -> Download:
    """Fetch splits of a corpus: what is missing or damaged, verified byte by byte.

    Args:
        name: the corpus.
        splits: default: all that can be fetched.
        observer: is shown the progress; default: a bar on a terminal.

    Raises:
        ConfigError: the corpus or split cannot be fetched, or downloads are forbidden.
        DataError: the server cannot be reached, or sends something else than it should.
        StoreError: the cache cannot be written.
    """
    if registry.normalise(name) not in SOURCES:
        raise ConfigError(unknown_names.unknown_name("corpus to fetch", name, SOURCES))
    name = registry.normalise(name)
    splits = tuple(splits or splits_of(name))
    for split in splits:
        if split not in splits_of(name):
            raise ConfigError(
                f"{name} {split} cannot be fetched; what can is {', '.join(splits_of(name))}"
            )
    if is_offline():
        raise ConfigError(
            f"{name} {', '.join(splits)}: nothing is downloaded because {OFFLINE} or --offline is "
            "set."
        )
    folder = _folder(name)
    fetching = _Fetching(name, splits, folder, observer)
    with (
        fetching.saying_what_is_here(),
        exclusive_lock(folder.with_name(f"{folder.name}.lock"), _say_waiting),
    ):
        return fetching.run()


class _Fetching:
    """A download at work."""

    def __init__(
        self, name: str, splits: Sequence[str], folder: Path, observer: Observer | None
    ) -> None:
        self._name, self._splits, self._folder = name, splits, folder
        self._observer = observer
        self._before = Download(name, folder)
        self._commits: dict[str, str] = {}  # of what is asked for now
        self._web = _Web()
        self._received = 0  # bytes; by several threads, so a few may be missed by the bar
        self._wanted: dict[str, RemoteFile] = {}
        self._here: dict[str, tuple[int, str]] = {}  # path -> size, SHA-256

    def run(self) -> Download:
        """Fetch; the lock is held, so that no other process changes what is recorded."""
        before = self._before = _recorded(self._folder) or self._before
        with self._web:
            files = {split: self._listed(split) for split in self._splits}
            self._wanted = {file.path: file for listed in files.values() for file in listed}
            for file in self._wanted.values():
                self._look_for(file)
            missing = [file for path, file in self._wanted.items() if path not in self._here]
            if missing:
                self._announce(missing)
                self._fetch(missing)
        whole = Download(
            self._name,
            self._folder,
            {**before.commits} | self._commits,
            {**before.splits}
            | {split: [f.path for f in listed] for split, listed in files.items()},
            {**before.files} | self._here,
            tuple(file.path for file in missing),
        )
        _write_record(whole)
        return whole

    def _listed(self, split: str) -> list[RemoteFile]:
        source = SOURCES[self._name]
        if isinstance(source, GitHubSource):
            self._commits[source.repository] = source.commit
            return source.files(self._name, split, _address(GITHUB_RAW))
        return [file for part in source.splits[split] for file in self._listed_by_hub(part)]

    def _listed_by_hub(self, part: HubPart) -> list[RemoteFile]:
        """Return the files of a data set, with what the hub states of them at its commit."""
        hub, web = _address(HUB), self._web
        revision = self._before.commits.get(part.repository) or web.whole_commit(part, hub)
        api = f"{hub}/api/datasets/{part.repository}/revision/{quote(revision, safe='')}?blobs=true"
        answer = web.json(api)
        try:
            commit, listed = str(answer["sha"]), answer["siblings"]
            root = f"{hub}/datasets/{part.repository}/resolve/{commit}"
            needed = [
                _on_hub(root, part.short, each) for each in listed if part.needs(each["rfilename"])
            ]
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{api}: not a list of files of the hub ({error!r})") from error
        if revision not in (MAIN, commit):
            raise DataError(f"{api}: the hub answers with another commit, {commit}")
        if not needed:
            raise DataError(
                f"{part.repository} has no {part.pattern} at commit {commit}: {hub} lists "
                f"{', '.join(str(each['rfilename']) for each in listed[:10]) or 'nothing'}"
            )
        self._commits[part.repository] = commit
        return needed

    def _look_for(self, file: RemoteFile) -> None:
        """Verify a file that an earlier download left; a damaged one is removed."""
        path = self._folder / file.path
        if not path.is_file():
            return
        try:
            self._here[file.path] = _verified(path, file)
        except DataError as fault:
            _say(f"{path} is damaged: {fault}. It is fetched again.")
            path.unlink()

    def _announce(self, missing: Sequence[RemoteFile]) -> None:
        size = sum(file.size or 0 for file in missing)
        self._folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(self._folder).free
        if size > free:
            raise StoreError(
                f"{self._folder}: the files take {_mb(size)}, but only {_mb(free)} are free. Make "
                f"room, or name another folder with ${CACHE_VARIABLE}."
            )
        unknown = sum(file.size is None for file in missing)
        more = f" and {unknown} of unknown size" if unknown else ""
        origin = without_secrets(", ".join(f"{r}@{c[:7]}" for r, c in self._commits.items()))
        host = urlsplit(missing[0].url).hostname
        _say(
            f"{self._name} {', '.join(self._splits)}: fetching {len(missing):,} files, "
            f"{_mb(size)}{more}, of {origin} from {host} into {self._folder}"
        )

    def _fetch(self, missing: Sequence[RemoteFile]) -> None:
        """Fetch files beside each other; the first error ends it."""
        observer = self._observer or _bar()
        total = sum(file.size or 0 for file in missing) // 1000
        observer.stage(f"fetch {self._name} (kB)", total or None)
        shown = 0
        pool = ThreadPoolExecutor(_PARALLEL, "fetch")
        # Large files first: what is left at the end is short.
        ordered = sorted(missing, key=lambda file: -(file.size or sys.maxsize))
        pending = {pool.submit(self._fetch_one, file) for file in ordered}
        try:
            while pending:
                done, pending = wait(pending, _TICK, FIRST_EXCEPTION)
                for future in done:
                    future.result()
                observer.advance(self._received // 1000 - shown)
                shown = self._received // 1000
        finally:
            self._web.stopped.set()
            pool.shutdown(cancel_futures=True)
            observer.finished()

    def _fetch_one(self, file: RemoteFile) -> None:
        """Fetch a file from where an earlier attempt stopped, check it and give it its name.

        Raises:
            DataError: it was not what it should be, twice.
        """
        target = self._folder / file.path
        part = target.with_name(f"{target.name}.part")
        part.parent.mkdir(parents=True, exist_ok=True)
        for is_last in (False, True):
            self._web.save(file, part, self._count)
            try:
                verified = _verified(part, file)
            except DataError as fault:
                part.unlink()
                if is_last:
                    raise DataError(
                        f"{without_secrets(file.url)}: {fault}. It was fetched twice and not kept. "
                        "Try again later; if it stays so, the server or a proxy on the way is at "
                        "fault."
                    ) from fault
            else:
                part.replace(target)
                self._here[file.path] = verified
                return

    def _count(self, received: int) -> None:
        self._received += received

    @contextmanager
    def saying_what_is_here(self) -> Iterator[None]:
        """End errors with how much is here, and that the same command goes on."""
        try:
            yield
        except TargetBenchError as error:
            raise type(error)(f"{error}{self._what_is_here()}") from error
        except OSError as error:
            raise StoreError(
                f"{error.filename or self._folder} cannot be read or written: "
                f"{error.strerror or error}. Make room, or name another folder with "
                f"${CACHE_VARIABLE}.{self._what_is_here()}"
            ) from error
        except KeyboardInterrupt:
            _say(f"Interrupted.{self._what_is_here()}")
            raise

    def _what_is_here(self) -> str:
        goes_on = f"in {self._folder}; the same command goes on from there."
        if self._wanted:
            size = sum(size for size, _ in self._here.values())
            whole = sum(file.size or 0 for file in self._wanted.values())
            n = f"{len(self._here):,} of {len(self._wanted):,} files ({_mb(size)} of {_mb(whole)})"
            return f" {n} are {goes_on}"
        # The hub did not say what belongs to it.
        other = (SOURCE, ".part")
        here = [p for p in self._folder.rglob("*") if p.is_file() and not p.name.endswith(other)]
        return f" {len(here):,} files fetched earlier are {goes_on}" if here else ""


def _on_hub(root: str, folder: str, listed: Mapping[str, Any]) -> RemoteFile:
    """Return a file as the hub lists it; the blob id of a large one is that of its pointer.

    Raises:
        DataError: its path leaves the folder, or size or hash are not stated.
    """
    path, large = listed["rfilename"], listed.get("lfs")
    if not path.isprintable() or {"..", ""} & set(path.replace("\\", "/").split("/")):
        raise DataError(f"{root}: the hub lists an invalid path: {path!r}")
    size, sha256 = (large["size"], large["sha256"]) if large else (listed["size"], None)
    blob = None if large else listed["blobId"]
    if not isinstance(size, int) or not isinstance(sha256 or blob, str):
        raise DataError(f"{root}/{path}: the hub states no size or hash")
    return RemoteFile(f"{root}/{quote(path)}", f"{folder}/{path}", size, blob, sha256)


class _StoppedError(Exception):
    """Another file failed, or the user interrupted."""


class _Web:
    """HTTPS with the proxies of the environment, attempts, and errors that say what to do."""

    def __init__(self) -> None:
        import requests
        from requests.adapters import HTTPAdapter

        self.stopped = threading.Event()
        self._session = requests.Session()
        # Packed bytes cannot be continued from the middle.
        self._session.headers["Accept-Encoding"] = "identity"
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, HTTPAdapter(pool_maxsize=_PARALLEL))

    def __enter__(self) -> "_Web":
        return self

    def __exit__(self, *error: object) -> None:
        self._session.close()

    def json(self, url: str) -> Any:
        """Return what a server answers as JSON."""

        def read() -> bytes:
            with self._response(url) as response:
                return response.content

        try:
            return parse_json(self._tried(url, read))
        except ValueError as error:
            raise DataError(f"{without_secrets(url)}: the answer is not JSON ({error})") from error

    def whole_commit(self, part: HubPart, hub: str) -> str:
        """Return the whole name of an abbreviated commit; the hub takes no abbreviation."""
        if part.revision == MAIN or len(part.revision) == 40:
            return part.revision
        commits = self.json(f"{hub}/api/datasets/{part.repository}/commits/{MAIN}")
        for commit in commits if isinstance(commits, list) else ():
            if isinstance(commit, dict) and str(commit.get("id")).startswith(part.revision):
                return str(commit["id"])
        raise DataError(
            f"{part.repository}: {hub} does not list the commit {part.revision}, which "
            "target-bench reads. Report it, please."
        )

    def save(self, file: RemoteFile, part: Path, count: Callable[[int], None]) -> None:
        """Write a file into ``part``, after what is there; a broken connection is made again.

        Raises:
            DataError: the server cannot be reached, or has no such file.
        """
        self._tried(file.url, lambda: self._append(file, part, count))

    def _append(self, file: RemoteFile, part: Path, count: Callable[[int], None]) -> None:
        from requests import ConnectionError as BrokenError

        start = part.stat().st_size if part.exists() else 0
        if start and file.size is not None and start >= file.size:
            return
        with self._response(file.url, start) as response:
            if response.status_code == 416:  # all is there
                return
            with part.open("ab" if response.status_code == 206 else "wb") as out:
                for block in response.iter_content(_BLOCK):
                    self._go_on()
                    out.write(block)
                    count(len(block))
                    if file.size is not None and out.tell() > file.size:
                        break  # it is not the file; whoever checks it says so
                # An answer that states its length and is shorter is another file, or an error by
                # itself; one that does not may have been cut off.
                states_length = "Content-Length" in response.headers
                if file.size is not None and out.tell() < file.size and not states_length:
                    raise BrokenError(f"it ended after {out.tell():,} of {file.size:,} bytes")

    def _response(self, url: str, start: int = 0) -> "Response":
        """Return the answer of a server that has what was asked for.

        Raises:
            RequestException: it has not, or cannot be reached.
        """
        from requests import HTTPError

        headers = {"Range": f"bytes={start}-"} if start else {}
        token = os.environ.get("HF_TOKEN")
        if token and url.startswith(f"{_address(HUB)}/"):
            headers["Authorization"] = f"Bearer {token}"
        response = self._session.get(url, headers=headers, stream=True, timeout=_TIMEOUT)
        if response.status_code == 200 or (start and response.status_code in (206, 416)):
            return response
        response.close()
        raise HTTPError(response=response)

    def _tried(self, url: str, action: Callable[[], T]) -> T:
        """Return what an action returns that asks a server, tried again where that may help.

        Raises:
            TargetBenchError: it does not help.
        """
        from requests import HTTPError, RequestException

        for attempt in range(1, _ATTEMPTS + 1):
            self._go_on()
            seconds = 0.0
            try:
                return action()
            except HTTPError as error:
                status, asked = (
                    error.response.status_code,
                    error.response.headers.get("Retry-After"),
                )
                seconds = float(asked) if asked and asked.isdecimal() else 0.0
                may_help = status == 429 or status >= 500
                if not may_help or attempt == _ATTEMPTS or seconds > _LONGEST_WAIT:
                    raise _refusal(url, status, seconds) from error
            except RequestException as error:
                if attempt == _ATTEMPTS:
                    raise _unreachable(url, error) from error
            self._pause(attempt, seconds)
        raise AssertionError

    def _pause(self, attempt: int, seconds: float = 0.0) -> None:
        self.stopped.wait(max(seconds, _BACKOFF * 2 ** (attempt - 1)))

    def _go_on(self) -> None:
        if self.stopped.is_set():
            raise _StoppedError


def _refusal(url: str, status: int, seconds: float) -> TargetBenchError:
    """Return the error for an answer that is not a file."""
    url = without_secrets(url)
    if status in (401, 403):
        return ConfigError(
            f"{url}: access was refused (status {status}). If it is on the Hugging Face hub, set "
            "HF_TOKEN to a token that may read it."
        )
    if status == 404:
        return DataError(f"{url}: there is no such file (status 404).")
    later = f" It asks to wait {seconds:,.0f} seconds." if seconds else " Try again later."
    return DataError(f"{url}: the server answered with status {status}.{later}")


def _unreachable(url: str, error: BaseException) -> DataError:
    reason: Any = error
    while reason.args and isinstance(reason.args[0], BaseException):
        reason = getattr(reason.args[0], "reason", None) or reason.args[0]
    return DataError(
        without_secrets(
            f"{url}: cannot be reached ({type(error).__name__}: {reason}). Check the network and "
            f"proxies (HTTPS_PROXY); ${GITHUB_RAW} and ${HUB} name other addresses. "
            "To get the files by other means: --offline lists them, and where to put them."
        )
    )


_ADDRESSES = {GITHUB_RAW: "https://raw.githubusercontent.com", HUB: "https://huggingface.co"}


def _address(variable: str) -> str:
    """Return the address of a server, without a slash at its end.

    Raises:
        ConfigError: the variable is set to something else.
    """
    address = os.environ.get(variable) or _ADDRESSES[variable]
    try:
        parts = urlsplit(address)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        valid = False
    if not valid:
        raise ConfigError(
            f"{variable}={without_secrets(address)}: expected an address, as in https://..."
        )
    return address.rstrip("/")


def _verified(path: Path, file: RemoteFile) -> tuple[int, str]:
    """Return size and SHA-256 of a file that is what it should be.

    Raises:
        DataError: it is not; the message says the first difference.
    """
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        raise DataError(f"expected {file.size:,} bytes, found {size:,}")
    sha256 = hashlib.sha256()
    blob = hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as content:
        while block := content.read(_BLOCK):
            sha256.update(block)
            blob.update(block)
    if file.sha256 is not None and sha256.hexdigest() != file.sha256:
        raise DataError(f"expected SHA-256 {file.sha256}, found {sha256.hexdigest()}")
    if file.git_blob is not None and blob.hexdigest() != file.git_blob:
        raise DataError(f"expected git blob {file.git_blob}, found {blob.hexdigest()}")
    return size, sha256.hexdigest()


def _folder(name: str) -> Path:
    """Return where a corpus lies; other pins make another folder."""
    pin = hashlib.sha256(repr(SOURCES[name]).encode()).hexdigest()[:8]
    return cache_root() / "downloads" / f"{name}-{pin}"


def _recorded(folder: Path) -> Download | None:
    """Return what ``source.json`` says; None if it is not there or damaged."""
    try:
        record = unsealed(parse_json((folder / SOURCE).read_bytes()))
        if record["format"] != _FORMAT:
            return None
        files = {path: (each["size"], each["sha256"]) for path, each in record["files"].items()}
        return Download(record["name"], folder, record["commits"], record["splits"], files)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _write_record(download: Download) -> None:
    record = {
        "format": _FORMAT,
        "name": download.name,
        "commits": download.commits,
        "splits": download.splits,
        "files": {path: {"size": s, "sha256": h} for path, (s, h) in download.files.items()},
    }
    text = json.dumps(sealed(record), indent=1, ensure_ascii=False) + "\n"
    atomic_write(download.folder / SOURCE, text.encode())


def _bar() -> Observer:
    """Return the progress for callers without an observer: a bar, on a terminal alone."""
    from target_bench.core.progress import Progress

    return Progress() if sys.stderr.isatty() else Observer()


def _mb(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _say_waiting(_: object) -> None:
    _say("Another process fetches this corpus; waiting for it.")
