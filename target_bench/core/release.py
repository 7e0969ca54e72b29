"""Reading release files: plain, gzip or zip, with errors that name file, record and field."""

import gzip
import json
import lzma
import tarfile
import zipfile
import zlib
from abc import ABC
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, ClassVar, TypeVar, cast

from target_bench.core.declarations import Columns
from target_bench.core.errors import DataError
from target_bench.core.files import Seen, dead_link, hash_file, listing, parse_json
from target_bench.core.schema import Corpus, CorpusInfo, Query, Table
from target_bench.core.text_tables import list_first

T = TypeVar("T")

_SUFFIXES = ("", ".gz", ".zip")
_MOST_NAMED = 20  # names in a note


class Release:
    r"""A folder of release files, remembering what was looked for and what was read.

    ```python
    from pathlib import Path

    from target_bench import Release

    Path("tables.csv").write_text("planet,moons\nMars,2\n")
    release = Release(Path("."), source="https://example.org/moons")
    print(release.require("tables.csv"), release.find("queries.csv"))  # tables.csv None
    ```

    Args:
        folder: where the files lie.
        source: where they can be had, for the message when one is missing.
        subfolders: places inside the folder to look in, as the authors' repositories have them.

    Attributes:
        notes: what a loader has to tell of what it read.
    """

    def __init__(self, folder: Path, source: str, subfolders: Sequence[str] = ()) -> None:
        self.folder = folder
        self.source = source
        self.seen = Seen()
        self.notes: list[str] = []
        self._remarks: dict[str, tuple[int, list[str], str]] = {}
        self._places = [folder, *(folder / name for name in subfolders)]

    @property
    def hashes(self) -> Mapping[str, str]:
        """Path in the folder -> SHA-256 of every file that was read."""
        return self.seen.files

    def remark(self, what: str, place: str, name: str = "") -> None:
        """Count a peculiarity: all of one kind become one note.

        Args:
            what: the peculiarity, in words that fit any number.
            place: where it is; the note has the first.
            name: what has it; the note has the first 20.
        """
        if what not in self._remarks:
            self._remarks[what] = len(self.notes), [], place
            self.notes.append("")
        number, names, first = self._remarks[what]
        names.append(name)
        named = f"{list_first(names, _MOST_NAMED)}; " if names[0] else ""
        self.notes[number] = f"{what}: {len(names):,} ({named}the first: {first})"

    def find(self, name: str) -> Path | None:
        """Return the file of this name, or this name with ``.gz`` or ``.zip``, or None."""
        names = [f"{name}{suffix}" for suffix in _SUFFIXES]
        return self._first(Path.is_file, *names)

    def find_folder(self, name: str) -> Path | None:
        """Return the folder of this name, or None."""
        return self._first(Path.is_dir, name)

    def _first(self, fits: Callable[[Path], bool], *names: str) -> Path | None:
        for path in (place / name for place in self._places for name in names):
            if fits(path):
                return path
            if not path.exists():
                self.seen.absent.add(self.relative(path))
        return None

    def require(self, *names: str) -> Path:
        """Return the first of these files that exists.

        Raises:
            DataError: none of them does.
        """
        for name in names:
            path = self.find(name)
            if path:
                return path
        listed = " or ".join(names)
        advice = f"Download it from {self.source} and put it there."
        if Path(self.source).exists():  # data of a user's own
            advice = "Write it; docs/data.md shows its form."
        raise DataError(f"no {listed} (nor .gz, .zip) in the folder {self.folder}: {advice}")

    def matching(self, pattern: str, dead: bool = False) -> list[Path]:
        """Return the files that match a glob pattern, in the order of their paths.

        Raises:
            DataError: a link leads to nothing; with ``dead``, not before it is read.
        """
        names = self.seen.listings[pattern] = listing(self.folder, pattern)
        paths = [self.folder / name for name in names]
        if not dead and (fault := next(filter(None, map(dead_link, paths)), None)):
            raise DataError(fault)
        return paths

    def content(self, path: Path) -> bytes:
        """Return the file's content, decompressed; a zip must hold one file."""
        with self.open(path) as file:
            return file.read()

    @contextmanager
    def open(self, path: Path) -> Iterator[IO[bytes]]:
        """Open the file's content as a stream, decompressed; a zip must hold one file."""
        self.note(path)
        with _readable(path):
            if path.suffix == ".gz":
                with gzip.open(path) as unzipped:
                    yield cast(IO[bytes], unzipped)
            elif path.suffix == ".zip":
                with zipfile.ZipFile(path) as archive, archive.open(_only_member(archive)) as file:
                    yield file
            else:
                with path.open("rb") as file:
                    yield file

    def members(self, path: Path) -> Iterator[tuple[str, bytes]]:
        """Yield (name, content) of every file in a zip, by name, or in a ``.tar.gz``, in its order.

        One is held at a time.
        """
        self.note(path)
        with _readable(path):
            if path.suffix == ".zip":
                with zipfile.ZipFile(path) as archive:
                    for item in sorted(archive.infolist(), key=lambda item: item.filename):
                        if not item.is_dir():
                            yield item.filename, archive.read(item)
                return
            with tarfile.open(path, "r|gz") as packed:
                for member in packed:
                    if (file := packed.extractfile(member)) is not None:
                        yield member.name, file.read()

    def bundled(self, archive: str, folder: str) -> Iterator[tuple[str, str, bytes]]:
        """Yield (place, name, content) of every file in ``<archive>.zip``, or else in a folder.

        Args:
            archive: the zip file, without its suffix.
            folder: the folder that it holds, which begins the names.

        Raises:
            DataError: neither is here.
        """
        path = self.find(archive)
        if path is not None and path.suffix == ".zip":
            for name, content in self.members(path):
                if not name.startswith("__MACOSX"):
                    yield f"{path}, {name}", name, content
            return
        for root in (place / folder for place in self._places):
            files = self.matching(f"{self.relative(root)}/**/*")
            for path in files:
                yield str(path), f"{folder}/{path.relative_to(root).as_posix()}", self.content(path)
            if files:
                return
        self.require(f"{archive}.zip", f"{folder}/")

    def text(self, path: Path) -> str:
        """Return the file's content as UTF-8 text."""
        return decode(self.content(path), path)

    def json(self, path: Path) -> Any:
        """Return the file's content as one JSON document."""
        return _json(self.text(path), path)

    def json_list(self, path: Path, what: str = "record") -> Iterator[tuple[str, Any]]:
        """Yield (place, value) of every entry of a JSON list; the place names file and number.

        Args:
            path: the file.
            what: what an entry is.

        Raises:
            DataError: it holds no list.
        """
        entries = self.json(path)
        if not isinstance(entries, list):
            raise DataError(f"{path}: expected a list of {what}s, found {type(entries).__name__}")
        for number, entry in enumerate(entries, start=1):
            yield f"{path}, {what} {number}", entry

    def json_of(self, content: bytes, place: str) -> Any:
        """Return the content of a file of ``bundled`` as one JSON document."""
        return _json(decode(content, place), place)

    def json_lines(self, path: Path) -> Iterator[tuple[str, Any]]:
        """Yield (place, value) of every line that is not blank; the place names file and line."""
        with self.open(path) as file:
            for number, raw in enumerate(file, start=1):
                place = f"{path}, line {number}"
                line = decode(raw, place, one_line=True)
                if line.strip():
                    yield place, _json(line, place, one_line=True)

    def note(self, path: Path) -> None:
        """Remember a file that is about to be read by other means.

        Raises:
            DataError: it cannot be read.
        """
        name = self.relative(path)
        if name not in self.seen.files:
            try:
                self.seen.files[name] = hash_file(path)
                self.seen.sizes[name] = path.stat().st_size
            except OSError as error:
                fault = dead_link(path) or f"{path}: cannot be read: {error.strerror}"
                raise DataError(fault) from error

    def relative(self, path: Path) -> str:
        """Return a path as seen from the folder; one that is elsewhere is absolute."""
        inside = path.is_relative_to(self.folder)
        return (path.relative_to(self.folder) if inside else path.resolve()).as_posix()


def _only_member(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    members = [item for item in archive.infolist() if not item.is_dir()]
    if len(members) != 1:
        raise DataError(f"{archive.filename}: expected one file inside, found {len(members)}")
    return members[0]


_DAMAGED = (
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    tarfile.TarError,
)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Raise errors of reading and unpacking a file as errors that name it."""
    try:
        yield
    except _DAMAGED as error:
        raise DataError(
            f"{path}: the file is truncated or damaged ({error}). Download it again."
        ) from error
    except RuntimeError as error:  # an encrypted zip, or an unknown compression
        if path.suffix != ".zip":
            raise
        raise DataError(
            f"{path}: the zip file cannot be read ({error}). Pack it again without a password."
        ) from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def _json(text: str, place: object, one_line: bool = False) -> Any:
    try:  # without the last line's end, after which there is no place that could be named
        return parse_json(text.rstrip(), object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        where = (
            f"column {error.colno}" if one_line else f"line {error.lineno}, column {error.colno}"
        )
        raise DataError(f"{place}: not valid JSON at {where}: {error.msg}") from error
    except ValueError as error:
        raise DataError(f"{place}: not usable JSON: {error}") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):  # Python would keep the last value in silence
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {repeated!r} occurs twice in one object")
    return record


def decode(raw: bytes, place: object, one_line: bool = False) -> str:
    """Return UTF-8 text (a byte-order mark is dropped).

    ```python
    from target_bench import DataError
    from target_bench.plugin_tools import decode

    print(decode("café".encode(), "tables.csv"))  # café
    try:
        decode("café".encode("latin-1"), "tables.csv")
    except DataError as error:
        print(error)
        # tables.csv: not valid UTF-8 at line 1 (byte 0xe9 at offset 3). Convert the file to UTF-8.
    ```

    Raises:
        DataError: the bytes are not UTF-8; the message names the line and the byte.
    """
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at_line = "" if one_line else f" at line {raw.count(10, 0, error.start) + 1}"
        where = f"position {error.start} of the line" if one_line else f"offset {error.start}"
        raise DataError(
            f"{place}: not valid UTF-8{at_line} (byte 0x{raw[error.start]:02x} at {where}). "
            "Convert the file to UTF-8."
        ) from error


def field(record: Any, name: str, kind: type[T], place: str) -> T:
    """Return ``record[name]``, which must be of ``kind``.

    ```python
    from target_bench import DataError
    from target_bench.plugin_tools import field

    record = {"question": "Who won?"}
    print(field(record, "question", str, "line 1"))  # Who won?
    try:
        field(record, "answer", str, "line 1")
    except DataError as error:
        print(error)  # line 1: no field 'answer'; it has question
    ```

    Raises:
        DataError: the record is not an object, the field is missing or of another type.
    """
    if not isinstance(record, dict):
        raise DataError(f"{place}: expected a JSON object, found {type(record).__name__}")
    if name not in record:
        raise DataError(f"{place}: no field {name!r}; it has {', '.join(record) or 'no field'}")
    value = record[name]
    if not isinstance(value, kind):
        raise DataError(
            f"{place}: field {name!r}: expected {kind.__name__}, found {type(value).__name__}: "
            f"{str(value)[:80]!r}"
        )
    return value


def texts(record: Any, name: str, place: str) -> list[str]:
    """Return ``record[name]``, which must be a list of texts; errors as of ``field``.

    ```python
    from target_bench.plugin_tools import texts

    print(texts({"header": ["planet", "moons"]}, "header", "line 1"))  # ['planet', 'moons']
    ```
    """
    values: list[str] = field(record, name, list, place)
    for value in values:
        if not isinstance(value, str):
            raise DataError(
                f"{place}: field {name!r}: expected a list of texts, found {value!r:.80} in it"
            )
    return values


class CorpusLoader(ABC):
    """A corpus plug-in: what it declares, and how its release files are read.

    ```python
    from target_bench import CorpusInfo, CorpusLoader, Table, TableId

    class Moons(CorpusLoader):
        info = CorpusInfo("moons", licence="CC0")
        tables_alone = True

        def tables(self, release, split):
            yield Table(TableId("0", "moons"), ["planet", "moons"], [["Mars", "2"]])

    print(Moons.info.name, list(Moons().tables(None, "test")))
    # moons [Table('moons', 2 columns, 1 rows)]
    ```

    Tables and queries are read apart: distractors need the tables alone, and a corpus that does
    not fit in memory is read as a stream.

    Attributes:
        info: the declaration.
        columns: what is in which field of the records of ``info.data``; in place of methods.
        embedded: the folder that holds the data when it ships with the plug-in.
        subfolders: places inside the data folder where files may lie, as in the authors'
            repository.
        cached: whether what was read goes into the Arrow cache; small corpora need none.
        folder: the name of its data folder, where that is not ``info.name``.
        tables_alone: whether it may have no queries, and can then be searched but not run.
    """

    info: CorpusInfo
    columns: Columns | None = None
    embedded: Path | None = None
    folder: ClassVar[str] = ""
    subfolders: ClassVar[tuple[str, ...]] = ()
    cached: bool = True
    tables_alone: bool = False

    def tables(
        self,
        release: Release,
        split: str,
    ) -> Iterable[Table]:
        """Return the tables of a split, in a fixed order.

        Default: none is here, for a corpus that is read by ``columns`` or in TARGET's layout.

        Args:
            release: the folder of release files; everything is read through it.
            split: one of ``info.splits``.

        Raises:
            DataError: a file is missing or broken; the message names file, record and field.
        """
        release.require(*(s.locate(p) for s in self.info.sources(split) for p in s.patterns))
        return ()

    def queries(
        self,
        release: Release,  # noqa: ARG002 (for corpora with queries)
        split: str,  # noqa: ARG002 (the contract's argument)
    ) -> Iterable[Query]:
        """Return the queries of a split; arguments and errors as for ``tables``.

        Default: none, for corpora with ``tables_alone``.
        """
        return ()

    def answerable(
        self,
        queries: Sequence[Query],
        tables: Corpus,  # noqa: ARG002 (for loaders that leave out tables)
    ) -> tuple[Sequence[Query], Sequence[str]]:
        """Return the queries to ask of the tables that were read, and notes of those left out.

        Default: all.
        """
        return queries, ()

    def databases(
        self,
        release: Release,  # noqa: ARG002 (for corpora of databases)
        split: str,  # noqa: ARG002 (the contract's argument)
    ) -> Mapping[str, Path]:
        """Return database id -> SQLite or DuckDB file of a split, where there is one.

        Default: none.
        """
        return {}
