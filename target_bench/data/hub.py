"""TARGET's data sets on the Hugging Face hub: fetched once, checked, and used offline from then on.

A download lies in ``<cache>/hub/<corpus>/<pin>/``: one folder per repository, and ``source.json``
with the requested revision, its commit, and the size and SHA-256 of every file, by which the files
are checked whenever they are read. That file has a checksum itself. The pin is a hash of the
commits. A download is written to a temporary folder and renamed when all of it is checked.

Every file is checked against what the hub itself says of it (SHA-256 of files in its large-file
store, the git hash of the others, sizes) and against ``known_files.json``, which also lists the
repositories. That table is to hold the commit and the files of each repository, so that everybody
gets the same bytes. No commit is known to us yet, so today it names repositories only: the default
revision is the branch ``main``, resolved to a commit when it is pulled, and from then on that
commit stands in ``source.json`` and can be asked for. Two people who pull on different days may get
different data; their commits tell.

The package huggingface_hub (extra ``hub``) does the transfers, so ``HF_ENDPOINT``, ``HF_TOKEN``,
proxies and timeouts work as everywhere. Only ``pull`` imports it.

It is asked for one file at a time and not for a snapshot: ``snapshot_download`` takes a file of the
right size for whole without reading its bytes, leaves a damaged one as it is (or, forced, fetches
all of them again), returns what lies in the folder when the hub cannot be reached, and names no
file in most of its errors.
"""

import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from target_bench.core import registry, unknown_names
from target_bench.core.errors import ConfigError, DataError, StoreError
from target_bench.core.files import CACHE_VARIABLE, cache_root, parse_json, sealed, unsealed
from target_bench.data.hub_client import MAIN, Facts, Hub, Listing, short

FORMAT = 1
"""The version of the layout; pulls of another version are not used."""

SOURCE = "source.json"
_KNOWN_FILES = "known_files.json"
_TEMPORARY = ".new-"
_ABANDONED = 24 * 3600  # seconds
_BLOCK = 1 << 20  # bytes

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class File:
    """A checked file: its path in the repository, its size in bytes, its SHA-256."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as it was pulled.

    Attributes:
        id: ``owner/name``.
        revision: the branch, tag or commit that was asked for.
        commit: the commit it stood for.
        files: all its files.
    """

    id: str
    revision: str
    commit: str
    files: tuple[File, ...]


@dataclass(frozen=True, slots=True)
class Pull:
    """A whole pull.

    Attributes:
        name: the corpus.
        folder: where it lies.
        endpoint: the address of the hub.
        pulled: when it was last asked for, in UTC; the latest pull of a corpus is in use.
        repositories: what it holds.
        fetched: the files fetched just now, by their path in the folder.
    """

    name: str
    folder: Path
    endpoint: str
    pulled: str
    repositories: tuple[Repository, ...]
    fetched: tuple[str, ...] = ()

    @property
    def files(self) -> dict[str, File]:
        """All files, by their path in the folder."""
        return {f"{short(r.id)}/{f.path}": f for r in self.repositories for f in r.files}


def knows(name: str) -> bool:
    """Return whether a corpus of this name can be pulled."""
    return name in _known()


def pulled(name: str) -> Path | None:
    """Return the folder of the latest whole pull of a corpus, or None.

    Reads small local files only.
    """
    newest = _newest(name)
    return newest.folder if newest else None


def hashes(folder: Path) -> Mapping[str, str]:
    """Return the SHA-256 of each file of a pull, by its path in the folder.

    As recorded when it was fetched.

    Raises:
        DataError: the folder is not a pull.
    """
    record = _recorded(folder)
    if record is None:
        raise DataError(f"{folder}: no whole pull; its {SOURCE} is missing or cannot be read")
    return {path: file.sha256 for path, file in record.files.items()}


def check(folder: Path, files: Mapping[str, str]) -> None:
    """Check that files of a pull are as they were fetched; other folders are not checked.

    Args:
        folder: where the files were read.
        files: SHA-256 of those that were read, by their path in the folder.

    Raises:
        DataError: one is not.
    """
    record = _recorded(folder)
    for path, sha256 in files.items() if record else ():
        assert record is not None
        if path in record.files and record.files[path].sha256 != sha256:
            raise DataError(
                f"{folder / path}: damaged (not what was fetched). Fetch it again: target-bench "
                f"data pull {record.name}"
            )


def pull(name: str, revisions: Sequence[str] = (), say: Say = lambda _: None) -> Pull:
    """Fetch a corpus from the hub; if it is there already, check it and repair what is damaged.

    Args:
        name: a corpus of ``known_files.json``.
        revisions: a branch, tag or commit for all repositories, or ``REPOSITORY=REVISION`` for
            one; default: the known commit, else ``main``.
        say: gets a message for each step.

    Raises:
        ConfigError: an unknown corpus, repository or revision, or no access.
        DataError: the hub cannot be reached, or sends other files than it should.
        MissingExtraError: the extra ``hub`` is not installed.
        StoreError: the cache cannot be written.
    """
    known = _known().get(registry.normalise(name))
    if known is None:
        raise ConfigError(unknown_names.unknown_name("corpus on the hub", name, _known()))
    name = registry.normalise(name)
    asked = _asked(known, revisions)
    hub = Hub()
    listings = []
    for repository, revision in asked.items():
        say(f"asking {hub.endpoint} for {repository}, revision {revision}")
        listings.append(_with_known(hub.listing(repository, revision), known[repository]))
    home = cache_root() / "hub" / name / _pin(listings)
    try:
        with _temporary(home.parent) as temporary:
            old = _recorded(home)
            if old is not None and old.files.keys() == {key for key, *_ in _each(listings)}:
                return _mended(old, hub, listings, temporary, say)
            new = Pull(name, home, hub.endpoint, _now(), ())
            return _made(new, hub, listings, temporary, say)
    except OSError as error:
        raise StoreError(
            f"{error.filename or home} cannot be read or written: {error.strerror or error}. "
            "Nothing was left half-written. Make room, or name another folder with "
            f"${CACHE_VARIABLE}."
        ) from error


def _each(listings: list[Listing]) -> Iterator[tuple[str, Listing, str]]:
    """Yield (path in the folder, listing, path in the repository) of every file."""
    for listing in listings:
        for path in listing.files:
            yield f"{short(listing.id)}/{path}", listing, path


def _made(new: Pull, hub: Hub, listings: list[Listing], temporary: Path, say: Say) -> Pull:
    """Fetch everything, and move it to its place when it is whole."""
    _check_room(temporary, listings)
    whole = temporary / "whole"
    files: dict[str, list[File]] = {listing.id: [] for listing in listings}
    for key, listing, path in _each(listings):
        file = _fetch(hub, listing, path, temporary, whole / key, say)
        files[listing.id].append(file)
    repositories = [Repository(x.id, x.revision, x.commit, tuple(files[x.id])) for x in listings]
    new = replace(new, repositories=tuple(repositories))
    _record(new, whole)
    if new.folder.exists():  # without a readable record: not in use
        new.folder.rename(temporary / "old")
    whole.rename(new.folder)
    return replace(new, fetched=tuple(new.files))


def _mended(old: Pull, hub: Hub, listings: list[Listing], temporary: Path, say: Say) -> Pull:
    """Check every file of a pull, fetch the damaged ones again, and make it the one in use."""
    fetched = []
    for key, listing, path in _each(listings):
        target = old.folder / key
        recorded = Facts(old.files[key].size, old.files[key].sha256)
        facts = _facts(target) if target.is_file() else None
        fault = _fault(facts, [(SOURCE, recorded)]) if facts else "it is gone"
        if fault:
            say(f"{target} is damaged: {fault}. It is fetched again.")
            more = {path: (*listing.files[path], (SOURCE, recorded))}
            _fetch(hub, replace(listing, files=more), path, temporary, target, say)
            fetched.append(key)
    newest = _newest(old.name)
    if newest is None or newest.folder != old.folder:
        _record(replace(old, pulled=_now()), temporary)
        (temporary / SOURCE).replace(old.folder / SOURCE)
    return replace(old, fetched=tuple(fetched))


def _fetch(hub: Hub, listing: Listing, path: str, temporary: Path, target: Path, say: Say) -> File:
    """Download one file, check it and move it to its place.

    Raises:
        DataError: it was not what it should be, twice.
    """
    fault = None
    for again in (False, True):
        got = hub.download(listing, path, temporary / "download" / short(listing.id), again)
        facts = _facts(got)
        fault = _fault(facts, listing.files[path])
        if fault is None:
            target.parent.mkdir(parents=True, exist_ok=True)
            got.replace(target)
            return File(path, facts.size or 0, facts.sha256 or "")
        if not again:
            say(f"{listing.id}, file {path}: {fault}. It is fetched again.")
    raise DataError(
        f"{listing.id}, commit {listing.commit}, file {path}: {fault}. It was fetched twice and "
        "not kept. Try again later; if it stays so, the hub or a proxy on the way is at fault."
    )


def _facts(path: Path) -> Facts:
    size = path.stat().st_size
    sha256 = hashlib.sha256()
    git = hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            sha256.update(block)
            git.update(block)
    return Facts(size, sha256.hexdigest(), git.hexdigest())


def _fault(facts: Facts, sayings: Iterable[tuple[str, Facts]]) -> str | None:
    """Return the first difference between a file and its record."""
    for source, said in sayings:
        for what, wanted in asdict(said).items():
            found = getattr(facts, what)
            if wanted is not None and found != wanted:
                return f"expected {what} {wanted} (says {source}), found {found}"
    return None


def _with_known(listing: Listing, known: Mapping[str, Any]) -> Listing:
    """Add the hashes of ``known_files.json`` to a listing, if they are of this commit.

    Raises:
        DataError: a known file is not there.
    """
    unpinned = known["revision"] is None and listing.revision == MAIN
    if not unpinned and known["revision"] != listing.commit:
        return listing
    files = dict(listing.files)
    for path, facts in known["files"].items():
        if path not in files:
            raise DataError(
                f"{listing.id}, commit {listing.commit}: the file {path} is missing, which "
                f"{_KNOWN_FILES} expects. Name the right commit with --revision."
            )
        files[path] += ((_KNOWN_FILES, Facts(facts["size"], facts["sha256"])),)
    return replace(listing, files=files)


def _asked(known: Mapping[str, Any], revisions: Sequence[str]) -> dict[str, str]:
    """Return repository -> revision."""
    asked: dict[str, str] = {name: entry["revision"] or MAIN for name, entry in known.items()}
    for text in revisions:
        of, equals, revision = text.rpartition("=")
        chosen = [name for name in known if not equals or of in (name, short(name))]
        if not chosen or not revision:
            raise ConfigError(
                f"--revision {text!r}: expected a branch, tag or commit, or REPOSITORY=REVISION "
                f"with one of {', '.join(map(short, known))}"
            )
        asked |= dict.fromkeys(chosen, revision)
    return asked


@cache
def _known() -> dict[str, dict[str, Any]]:
    text = Path(__file__).with_name(_KNOWN_FILES).read_text(encoding="utf-8")
    found: dict[str, dict[str, Any]] = json.loads(text)
    return found


def _pin(listings: list[Listing]) -> str:
    commits = json.dumps(sorted((listing.id, listing.commit) for listing in listings))
    return hashlib.sha256(commits.encode()).hexdigest()[:12]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _record(pull: Pull, folder: Path) -> None:
    record = {k: v for k, v in asdict(pull).items() if k not in ("folder", "fetched")}
    text = json.dumps(sealed({"format": FORMAT, **record}), indent=1, ensure_ascii=False)
    (folder / SOURCE).write_text(text + "\n", encoding="utf-8")


def _recorded(folder: Path) -> Pull | None:
    try:
        record = unsealed(parse_json((folder / SOURCE).read_bytes()), required=False)
        if record.pop("format") != FORMAT:
            return None
        repositories = [
            Repository(**{**each, "files": tuple(File(**file) for file in each["files"])})
            for each in record.pop("repositories")
        ]
        return Pull(folder=folder, repositories=tuple(repositories), **record)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _newest(name: str) -> Pull | None:
    if not knows(name):
        return None
    try:
        found = [
            _recorded(path.parent) for path in (cache_root() / "hub" / name).glob(f"*/{SOURCE}")
        ]
    except OSError:
        return None
    return max(filter(None, found), key=lambda pull: pull.pulled, default=None)


@contextmanager
def _temporary(parent: Path) -> Iterator[Path]:
    """Make a folder beside the pulls, deleted at the end of the block."""
    parent.mkdir(parents=True, exist_ok=True)
    for left in parent.glob(f"{_TEMPORARY}*"):  # by a process that was killed
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED:
                shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check_room(folder: Path, listings: list[Listing]) -> None:
    sizes = [listing.files[path][0][1].size or 0 for _, listing, path in _each(listings)]
    free = shutil.disk_usage(folder).free
    if sum(sizes) > free:
        raise StoreError(
            f"{folder.parent}: the files take {sum(sizes) / 1e6:,.1f} MB, but only "
            f"{free / 1e6:,.1f} MB are free. Make room, or name another folder with "
            f"${CACHE_VARIABLE}."
        )
