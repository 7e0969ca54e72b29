"""One form for people: items to judge go out, flat records of the replies come back.

A form is an HTML file that works without a network, a file of JSON lines or CSV with empty fields
to fill in, or a file that Label Studio or Argilla imports. A record has the fields of its item's
key, ``asked`` (the words that were shown), ``annotator``, and one field a criterion.
"""

import csv
import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.files import parse_json
from target_bench.core.grid import GridCell
from target_bench.reporting.web import environment, page_parts
from target_bench.runs.record_log import write_file

FormFormat = Literal["html", "jsonl", "csv", "label-studio", "argilla"]

COLUMNS = 60
"""Columns of a table that a form shows."""
CELL = 300
"""Characters of a cell that a form shows."""
LARGEST = 50_000_000
"""Bytes of a file of records above which it is not read."""

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Criterion:
    """A question about an item: the field of a record, its words, its options with their words."""

    name: str
    question: str
    options: tuple[tuple[str | int, str], ...]

    def reply(self, value: object) -> str | int | None:
        """Return the option that a value of a record stands for; None of an empty one.

        Raises:
            ValueError: it is none of the options.
        """
        if value is None or value == "":
            return None
        written = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
        for option, _ in self.options:
            if str(option) == written:
                return option
        listed = ", ".join(str(option) for option, _ in self.options)
        raise ValueError(f"{self.name}: expected one of {listed}, found {value!r:.40}")


ShownTable = dict[str, Any]
"""A table as ``shown_table`` cuts it."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something to judge.

    Attributes:
        key: fields of its record that say what it is, ``query_id`` among them.
        asked: the question or instruction that it belongs to.
        criteria: what people are asked about it.
        texts: further texts, each with its name, as ``("answer", "42")``.
        tables: what is shown below them.
    """

    key: Mapping[str, str | int]
    asked: str
    criteria: tuple[Criterion, ...]
    texts: tuple[tuple[str, str], ...] = ()
    tables: tuple[ShownTable, ...] = ()


def write_form(
    out: Path, items: Sequence[Item], heading: str, explained: str, form: FormFormat | None = None
) -> None:
    """Write a form about items, in their order.

    Args:
        out: the file.
        items: what is judged.
        heading: above the HTML form.
        explained: what people should go by.
        form: its format; default: by the suffix of the file, else ``html``. ``label-studio``
            writes tasks as JSON and a labelling interface beside them (``.xml``); ``argilla``
            records for ``dataset.records.from_json``.

    Raises:
        ConfigError: there is nothing to judge.
        StoreError: the file cannot be written.
    """
    if not items:
        raise ConfigError("there is nothing to ask people about")
    by_suffix: dict[str, FormFormat] = {".jsonl": "jsonl", ".csv": "csv"}
    form = form or by_suffix.get(out.suffix, "html")
    if form == "jsonl":
        text = "".join(json.dumps(_row(item), ensure_ascii=False) + "\n" for item in items)
    elif form == "csv":
        text = _csv([_row(item) for item in items])
    elif form == "label-studio":
        interface = _rendered("label_studio.xml.j2", help=explained, criteria=_criteria(items))
        write_text(out.with_suffix(".xml"), interface)
        tasks = [
            {**i.key, "asked": i.asked, "html": _rendered("item.html.j2", item=i)} for i in items
        ]
        text = json.dumps([{"data": task} for task in tasks], indent=1)
    elif form == "argilla":
        records = []
        for place, item in enumerate(items):
            texts = [item.asked, *(f"{name}: {text}" for name, text in item.texts)]
            fields = {"item": "\n\n".join([*texts, *map(_markdown, item.tables)])}
            metadata = {**item.key, "asked": item.asked}
            records.append({"id": str(place), "fields": fields, "metadata": metadata})
        text = json.dumps(records, indent=1)
    else:
        content = [asdict(item) for item in items]
        # The key names the draft that the browser keeps: another form has another one.
        key = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]
        text = _rendered(
            "form.html.j2",
            **page_parts(_FOLDER, ["form.js"], "form.css"),
            heading=heading,
            explained=explained,
            form={"key": key, "items": content},
        )
    write_text(out, text)


def read_records(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Read the replies of people.

    Args:
        paths: what the HTML form saved, filled-in JSON lines or CSV, what Label Studio exports
            (JSON-MIN or CSV), or what ``dataset.records.to_json`` of Argilla writes.

    Returns:
        The records; each has a text as ``annotator`` (where it is empty, the name of the file),
        and ``file``. Nothing else is checked.

    Raises:
        DataError: a file cannot be read or holds no records.
    """
    records = []
    for path in paths:
        lines = _read(path)
        if not (isinstance(lines, list) and lines and all(isinstance(r, dict) for r in lines)):
            raise DataError(f"{path}: expected records of a form: a list of objects, or lines")
        for record in (flat for line in lines for flat in _from_argilla(line)):
            name = record.get("annotator")
            annotator = path.stem if name in (None, "") else str(name)
            records.append({**record, "annotator": annotator, "file": path})
    return records


def write_text(path: Path, text: str) -> None:
    """Write a file as a whole.

    Raises:
        StoreError: it cannot be written.
    """
    write_file(path, text.encode("utf-8", "backslashreplace"), "-o")


def shown_table(
    title: str,
    rows: Sequence[Sequence[GridCell]],
    places: Sequence[int],
    marked: Sequence[tuple[int, int]] = (),
) -> ShownTable:
    """Cut a table for a form.

    Args:
        title: above it.
        rows: all rows, header rows first.
        places: the rows that are shown, in order.
        marked: row and column of cells that stand out.

    Returns:
        ``title``; ``rows``: their cells, None in place of rows that are left out; ``marked``: row
        and column, in these rows.
    """
    cells: list[Sequence[GridCell] | None] = []
    shown: dict[int, int] = {}
    for place in places:
        if place and place - 1 not in shown:
            cells.append(None)
        shown[place] = len(cells)
        cells.append([c._replace(text=_cut(c.text)) for c in rows[place][:COLUMNS]])
    if places and places[-1] + 1 < len(rows):
        cells.append(None)
    marks = [(shown[row], column) for row, column in marked if row in shown]
    return {"title": _cut(title), "rows": cells, "marked": marks}


def _cut(text: str) -> str:
    return text if len(text) <= CELL else f"{text[:CELL]}…"


def _rendered(template: str, **values: Any) -> str:
    return environment(_FOLDER).get_template(template).render(**values)


def _row(item: Item) -> dict[str, Any]:
    """Return what is shown of an item, with empty fields for the replies."""
    replies = dict.fromkeys(["annotator", *(criterion.name for criterion in item.criteria)], "")
    tables = "\n\n".join(map(_markdown, item.tables))
    return {**item.key, **replies, "asked": item.asked, **dict(item.texts)} | {"tables": tables}


def _markdown(table: ShownTable) -> str:
    cells = [
        [c.text.replace("|", "\\|").replace("\n", " ") for c in row] if row else ["…"]
        for row in table["rows"]
    ]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    rule = f"|{'---|' * len(cells[0])}" if cells else ""
    return "\n".join([table["title"], *lines[:1], rule, *lines[1:]])


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
"""Beginnings of a cell that a spreadsheet takes for a formula."""


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO(newline="")
    names = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(text, list(names), restval="")
    writer.writeheader()
    for row in rows:
        quoted = {k: f"'{v}" if str(v).startswith(_FORMULA) else v for k, v in row.items()}
        writer.writerow(quoted)
    return text.getvalue()


def _criteria(items: Sequence[Item]) -> list[Criterion]:
    """Return the criteria of all items, each with the options of any of them."""
    merged: dict[str, Criterion] = {}
    for criterion in (criterion for item in items for criterion in item.criteria):
        known = merged.get(criterion.name, criterion)
        options = dict(known.options) | dict(criterion.options)
        merged[criterion.name] = Criterion(known.name, known.question, tuple(options.items()))
    return list(merged.values())


def _from_argilla(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a record of each person of a record of Argilla, and any other as it is."""
    responses = record.get("responses")
    if not isinstance(responses, dict) or not isinstance(record.get("metadata"), dict):
        yield dict(record)
        return
    by_user: dict[str, dict[str, Any]] = {}
    for name, values in responses.items():
        for value in values if isinstance(values, list) else ():
            by_user.setdefault(str(value.get("user_id")), {})[name] = value.get("value")
    for user, replies in by_user.items():
        yield {**record["metadata"], **replies, "annotator": user}


def _read(path: Path) -> Any:
    try:
        if path.stat().st_size > LARGEST:
            raise DataError(f"{path}: has more than {LARGEST:,} bytes; a file of labels is smaller")
        text = path.read_bytes().decode("utf-8-sig")
        if path.suffix == ".csv":
            csv.field_size_limit(LARGEST)  # tables are long fields
            rows = csv.DictReader(io.StringIO(text, newline=""), restval="")
            return [{k: _unquoted(v) for k, v in row.items() if k is not None} for row in rows]
        if path.suffix == ".jsonl":
            return [parse_json(line) for line in text.split("\n") if line.strip()]
        return parse_json(text)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, csv.Error) as error:
        raise DataError(f"{path}: is not what a form saves ({error})") from error


def _unquoted(text: str) -> str:
    return text[1:] if text.startswith("'") and text[1:].startswith(_FORMULA) else text
