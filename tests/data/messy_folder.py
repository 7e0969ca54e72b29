"""A folder of files as people have them: their dialects, encodings, sheets and faults."""

import csv
import gzip
import io
from dataclasses import dataclass
from pathlib import Path

import pyarrow
from pyarrow import parquet

from tests.builders import json_lines
from tests.data.workbooks import Rows, write_workbook

Grid = list[list[str]]


@dataclass(frozen=True)
class Messy:
    """What lies in the folder.

    Attributes:
        tables: table id -> header and rows, of every table that can be read.
        bad: paths of the files that cannot be read.
    """

    tables: dict[str, Grid]
    bad: list[str]


_BAD = {
    "bad/blank.csv": b"\n",
    "bad/binary.csv": bytes(range(256)) * 4,
    "bad/quote.csv": b'a,b\n"1,2\n3,4,5\n',
    "bad/undefined.csv": b"a,b\n1,\x81\n",
    "bad/lines.jsonl": b'{"a": 1}\n{"a": \n',
    "bad/list.jsonl": b"[1, 2]\n",
    "bad/broken.parquet": b"PAR1 no more",
    "bad/broken.xlsx": b"PK\x03\x04 no more",
    "bad/broken.ods": b"PK\x03\x04 no more",
    "bad/broken.xls": b"\xd0\xcf\x11\xe0 no more",
    "bad/packed.csv": b"PK\x03\x04 no more",
}
_OTHERS = {"readme.txt": b"what this is", "scan.pdf": b"%PDF-1.4"}


def _grid(number: int) -> Grid:
    cities = ("Köln", "Nantes", "São Paulo", "Oslo", "Zürich", "Nice")  # cp1252 has them
    rows = [
        [cities[(number + i) % 6], str(2000 + number + i), f"{number + i},{i}5"] for i in range(5)
    ]
    return [["city", "year", f"visitors {number}"], *rows]


def _written(grid: Grid, delimiter: str = ",") -> str:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(grid)
    return file.getvalue()


def write_messy_folder(folder: Path) -> Messy:
    """Write the files; needs what reads workbooks."""
    header, *rows = grid = _grid(0)
    records = [dict(zip(header, row, strict=True)) for row in rows]
    packed = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(records), packed)
    contents = {
        **{f"plain/p{n}.csv": _written(_grid(n)).encode() for n in range(60)},
        "excel.csv": _written(grid, ";").encode("cp1252"),
        "a/export00/data.csv": _written(grid).encode(),
        "tab.csv": _written(grid, "\t").encode("utf-8-sig"),
        "bar.csv": _written(grid, "|").encode(),
        "utf-16.csv": _written(grid, ";").encode("utf-16"),
        "report.csv": b"Visitors of cities\nSource: our own\n\n" + _written(grid).encode(),
        "t.tsv": _written(grid, "\t").encode(),
        "packed.csv.gz": gzip.compress(_written(grid).encode(), mtime=0),
        "lines.jsonl": json_lines(records).encode(),
        "columns.parquet": packed.getvalue(),
    }
    tables = {name.removesuffix(".gz").rpartition(".")[0]: grid for name in contents}
    tables |= {f"plain/p{n}": _grid(n) for n in range(60)}
    contents["short.csv"] = _written([*grid, ["Bern", "1999"]]).encode()
    tables["short"] = [*grid, ["Bern", "1999", ""]]
    for name, content in (contents | _BAD | _OTHERS).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    merged: Rows = [["city", "visitors", None], [None, "2000", "2001"], ["Oslo", "1", "2"]]
    spans = {"Wide": [(0, 0, 2, 1), (0, 1, 1, 2)]}
    wide = [["city", "visitors 2000", "visitors 2001"], ["Oslo", "1", "2"]]
    for suffix in ("xlsx", "ods", "xls"):
        path = folder / f"titled_{suffix}.{suffix}"
        write_workbook(path, {"Data": [["Visitors of cities"], [], *grid]})
        path = folder / f"sheets_{suffix}.{suffix}"
        write_workbook(path, {"Long": grid, "Empty": [], "Wide": merged}, spans)
        tables |= {f"titled_{suffix}": grid, f"sheets_{suffix}/Long": grid}
        tables[f"sheets_{suffix}/Wide"] = wide
    return Messy(tables, sorted(_BAD))
