"""A folder of 188 files as people have them: their dialects, encodings, sheets and faults."""

import csv
import gzip
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow
from pyarrow import parquet

from tests.builders import json_lines
from tests.data.workbooks import write_workbook

_CITIES = ("Köln", "Łódź", "São Paulo", "Oslo", "Zürich", "Nice")
_WEST = ("Köln", "Nantes", "São Paulo", "Oslo", "Zürich", "Nice")
"""Names that cp1252 can write."""

Grid = list[list[str]]


@dataclass(frozen=True)
class Messy:
    """What lies in the folder.

    Attributes:
        tables: table id -> header and rows, of every table that can be read.
        bad: paths of the files that cannot be read.
        others: paths of files that hold no table.
    """

    tables: dict[str, Grid]
    bad: list[str]
    others: list[str]


def _grid(number: int, names: tuple[str, ...] = _CITIES) -> Grid:
    rows = [
        [names[(number + i) % 6], str(2000 + number + i), f"{number + i},{i}5"] for i in range(5)
    ]
    return [["city", "year", f"visitors {number}"], *rows]


def _written(grid: Grid, delimiter: str) -> str:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(grid)
    return file.getvalue()


def _texts() -> Iterator[tuple[str, bytes, Grid]]:
    """Yield (path, content, table) of files of text."""
    for n in range(60):
        yield f"plain/p{n}.csv", _written(_grid(n), ",").encode(), _grid(n)
    for n in range(20):
        grid = _grid(n, _WEST)
        yield f"excel/de{n}.csv", _written(grid, ";").encode("cp1252"), grid
    for n in range(20):
        grid = _grid(n)
        yield (
            f"{'abcdefghij'[n % 10]}{n // 10}/export00/data.csv",
            _written(grid, ",").encode(),
            grid,
        )
    for n, delimiter in enumerate("\t|;" * 6):
        yield f"delimiters/d{n}.csv", _written(_grid(n), delimiter).encode("utf-8-sig"), _grid(n)
    for n, codec in enumerate(("utf-16", "utf-16-le", "utf-16-be") * 3):
        yield f"encodings/e{n}.csv", _written(_grid(n), ";").encode(codec), _grid(n)
    for n in range(11):
        before = "Visitors of cities\nSource: our own\n\n"
        yield f"reports/r{n}.csv", (before + _written(_grid(n), ",")).encode(), _grid(n)
    for n in range(10):
        grid = _grid(n)
        short = _written([*grid, ["Bern", "1999"]], ",")
        yield f"ragged/s{n}.csv", short.encode(), [*grid, ["Bern", "1999", ""]]
    for n in range(5):
        yield f"tsv/t{n}.tsv", _written(_grid(n), "\t").encode(), _grid(n)
        packed = gzip.compress(_written(_grid(n), ",").encode(), mtime=0)
        yield f"packed/g{n}.csv.gz", packed, _grid(n)


_BAD = {
    "bad/blank.csv": b"\n",
    "bad/binary.csv": bytes(range(256)) * 4,
    "bad/quote.csv": b'a,b\n"1,2\n3,4\n',
    "bad/undefined.csv": b"a,b\n1,\x81\n",
    "bad/lines.jsonl": b'{"a": 1}\n{"a": \n',
    "bad/list.jsonl": b"[1, 2]\n",
    "bad/broken.parquet": b"PAR1 no more",
    "bad/broken.xlsx": b"PK\x03\x04 no more",
    "bad/broken.ods": b"PK\x03\x04 no more",
    "bad/broken.xls": b"\xd0\xcf\x11\xe0 no more",
    "bad/packed.csv": b"PK\x03\x04 no more",
}
_OTHERS = {"readme.txt": b"what this is", "scan.pdf": b"%PDF-1.4", "photo.png": b"\x89PNG"}


def write_messy_folder(folder: Path) -> Messy:
    """Write the files; needs what reads workbooks."""
    found = Messy({}, sorted(_BAD), sorted(_OTHERS))
    for name, content, grid in _texts():
        found.tables[name.removesuffix(".gz").rpartition(".")[0]] = grid
        _place(folder, name).write_bytes(content)
    for n in range(5):
        header, *rows = _grid(n)
        found.tables[f"typed/q{n}"] = found.tables[f"typed/j{n}"] = [header, *rows]
        columns = {name: [row[j] for row in rows] for j, name in enumerate(header)}
        parquet.write_table(pyarrow.table(columns), _place(folder, f"typed/q{n}.parquet"))
        lines = json_lines(dict(zip(header, row, strict=True)) for row in rows)
        _place(folder, f"typed/j{n}.jsonl").write_text(lines, encoding="utf-8")
    for n, suffix in enumerate(("xlsx", "ods", "xls", "xlsx", "ods", "xls")):
        _write_books(folder, n, suffix, found)
    for name, content in (_BAD | _OTHERS).items():
        _place(folder, name).write_bytes(content)
    return found


def _write_books(folder: Path, n: int, suffix: str, found: Messy) -> None:
    header, *rows = _grid(n)
    one = _place(folder, f"books/one{n}.{suffix}")
    if n % 2:
        title: list[list[str]] = [["Visitors of cities"], []]
        write_workbook(one, {"Data": [*title, header, *rows]})
        found.tables[f"books/one{n}"] = [header, *rows]
        return
    merged = [["city", "visitors", ""], ["", "2000", "2001"], *([r[0], "1", "2"] for r in rows)]
    wide = [[cell or None for cell in row] for row in merged]
    spans = {"Wide": [(0, 0, 2, 1), (0, 1, 1, 2)]}
    write_workbook(one, {"Long": [header, *rows], "Empty": [], "Wide": wide}, spans)
    found.tables[f"books/one{n}/Long"] = [header, *rows]
    found.tables[f"books/one{n}/Wide"] = [
        ["city", "visitors 2000", "visitors 2001"],
        *([row[0], "1", "2"] for row in rows),
    ]


def _place(folder: Path, name: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
