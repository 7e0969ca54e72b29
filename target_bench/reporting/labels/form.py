"""One form for people: items to judge go out, flat records of what was said come back.

A form is an HTML file that works without a network, a file of JSON lines or CSV with empty fields
to fill in, or a file that Label Studio or Argilla imports. A record has the fields of its item's
key, ``asked`` (the words that were shown), ``annotator``, and one field a criterion.
"""

import csv
import hashlib
import html
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal
from xml.sax.saxutils import quoteattr

from target_bench.core.errors import ConfigError, DataError, StoreError
from target_bench.core.files import atomic_write, parse_json
from target_bench.core.grid import GridCell
from target_bench.core.version import __version__
from target_bench.reporting.web import asset, environment, security_policy, valid
from target_bench.runs.record_log import cannot

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
    """A question about an item.

    Attributes:
        name: the field of a record with the reply.
        question: as it is asked.
        options: the possible replies, each with its words.
    """

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


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A table as a form shows it, or a part of it.

    Attributes:
        title: above it.
        rows: cells with their spans, cut where they are long; None for rows that are left out.
        marked: row and column, in ``rows``, of cells that stand out.
    """

    title: str
    rows: Sequence[Sequence[GridCell] | None]
    marked: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """Something to judge.

    Attributes:
        key: fields of its record that say what it is, ``query_id`` among them.
        asked: the question or instruction that it belongs to.
        criteria: what is asked about it.
        texts: further texts, each with its name, as ``("answer", "42")``.
        tables: what is shown below them.
        editable: whether people may edit ``asked``; the record then has it as ``text``.
    """

    key: Mapping[str, str | int]
    asked: str
    criteria: tuple[Criterion, ...]
    texts: tuple[tuple[str, str], ...] = ()
    tables: tuple[ShownTable, ...] = ()
    editable: bool = False


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
    """
    cells: list[Sequence[GridCell] | None] = []
    shown: dict[int, int] = {}
    for place in places:
        if place and place - 1 not in shown:
            cells.append(None)
        shown[place] = len(cells)
        cells.append([c._replace(text=_cut(c.text, CELL)) for c in rows[place][:COLUMNS]])
    if places and places[-1] + 1 < len(rows):
        cells.append(None)
    marks = [(shown[row], column) for row, column in marked if row in shown]
    return ShownTable(_cut(title, CELL), cells, marks)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"


def write_form(
    out: Path, items: Sequence[Item], heading: str, explained: str, form: FormFormat | None = None
) -> Path:
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
        ConfigError: there is nothing to judge, or ``out`` is a folder.
        StoreError: the file cannot be written.
    """
    if out.is_dir():
        raise ConfigError(f"-o {out}: is a folder; name a file, as in form.html")
    if not items:
        raise ConfigError("there is nothing to ask people about")
    by_suffix: dict[str, FormFormat] = {".jsonl": "jsonl", ".csv": "csv"}
    form = form or by_suffix.get(out.suffix, "html")
    if form == "label-studio":
        write_text(out.with_suffix(".xml"), _label_studio_interface(items, explained))
    text = {
        "html": lambda: _html(items, heading, explained),
        "jsonl": lambda: "".join(
            json.dumps(row, ensure_ascii=False) + "\n" for row in _rows(items)
        ),
        "csv": lambda: _csv(list(_rows(items))),
        "label-studio": lambda: json.dumps([_label_studio(item) for item in items], indent=1),
        "argilla": lambda: json.dumps([_argilla(*one) for one in enumerate(items)], indent=1),
    }[form]()
    write_text(out, text)
    return out


def write_text(path: Path, text: str) -> None:
    """Write a file as a whole.

    Raises:
        StoreError: it cannot be written.
    """
    try:
        atomic_write(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise StoreError(cannot("be written", path, error, "-o")) from error


def _html(items: Sequence[Item], heading: str, explained: str) -> str:
    content = _clean([asdict(item) for item in items])
    key = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]
    script = "\n".join([asset("page.js"), asset("form.js", _FOLDER)])
    style = "\n".join([asset("theme.css"), asset("form.css", _FOLDER)])
    template = environment(_FOLDER).get_template("form.html.j2")
    return template.render(
        policy=security_policy([script], [style]),
        version=__version__,
        script=script,
        style=style,
        heading=heading,
        explained=explained,
        form={"key": key, "items": content},
    )


def _clean(value: Any) -> Any:
    """Replace what UTF-8 cannot hold, in every text of a value of JSON."""
    if isinstance(value, str):
        return valid(value)
    if isinstance(value, list | tuple):
        return [_clean(part) for part in value]
    return {k: _clean(part) for k, part in value.items()} if isinstance(value, dict) else value


def _rows(items: Sequence[Item]) -> Iterator[dict[str, Any]]:
    """Yield what is shown of each item, with empty fields for what is said of it."""
    for item in items:
        said = dict.fromkeys(["annotator", *(one.name for one in item.criteria)], "")
        tables = "\n\n".join(map(_markdown, item.tables))
        edited = {"text": item.asked} if item.editable else {}
        yield {
            **item.key, **said, "asked": item.asked, **edited, **dict(item.texts), "tables": tables
        }  # fmt: skip


def _markdown(table: ShownTable) -> str:
    cells = [
        [c.text.replace("|", "\\|").replace("\n", " ") for c in row] if row else ["…"]
        for row in table.rows
    ]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    rule = f"|{'---|' * len(cells[0])}" if cells else ""
    return "\n".join([table.title, *lines[:1], rule, *lines[1:]])


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
"""Beginnings of a cell that a spreadsheet takes for a formula."""


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, names, restval="")
    writer.writeheader()
    for row in rows:
        writer.writerow(
            {
                name: f"'{value}" if str(value).startswith(_FORMULA) else value
                for name, value in row.items()
            }
        )
    return text.getvalue()


def _label_studio(item: Item) -> dict[str, Any]:
    return {"data": {**item.key, "asked": item.asked, "html": _as_html(item)}}


def _as_html(item: Item) -> str:
    """Return an item as HTML in which every text is escaped."""
    parts = [f"<h3>{html.escape(item.asked)}</h3>"]
    for name, text in item.texts:
        parts.append(f"<h4>{html.escape(name)}</h4><pre>{html.escape(text)}</pre>")
    for table in item.tables:
        marked = set(table.marked)
        parts.append(f'<h4>{html.escape(table.title)}</h4><table border="1">')
        for i, row in enumerate(table.rows):
            cells = [
                f'<td rowspan="{c.row_span}" colspan="{c.column_span}">'
                + ("<mark>{}</mark>" if (i, j) in marked else "{}").format(html.escape(c.text))
                + "</td>"
                for j, c in enumerate(row or [GridCell("…")])
            ]
            parts.append(f"<tr>{''.join(cells)}</tr>")
        parts.append("</table>")
    return "".join(parts)


def _label_studio_interface(items: Sequence[Item], explained: str) -> str:
    lines = ["<View>", f"  <Header value={quoteattr(explained)}/>"]
    lines.append('  <HyperText name="item" value="$html"/>')
    for criterion in _all_criteria(items):
        lines.append(f"  <Header value={quoteattr(criterion.question)}/>")
        lines.append(f'  <Choices name={quoteattr(criterion.name)} toName="item" choice="single">')
        lines += [
            f"    <Choice value={quoteattr(words)} alias={quoteattr(str(value))}/>"
            for value, words in criterion.options
        ]
        lines.append("  </Choices>")
    return "\n".join([*lines, "</View>", ""])


def _all_criteria(items: Sequence[Item]) -> list[Criterion]:
    """Return the criteria of all items, each with the options of any of them."""
    found: dict[str, Criterion] = {}
    for criterion in (one for item in items for one in item.criteria):
        known = found.get(criterion.name, criterion)
        options = dict(known.options) | dict(criterion.options)
        found[criterion.name] = Criterion(known.name, known.question, tuple(options.items()))
    return list(found.values())


def _argilla(place: int, item: Item) -> dict[str, Any]:
    texts = [item.asked, *(f"{name}: {text}" for name, text in item.texts)]
    fields = {"item": "\n\n".join([*texts, *map(_markdown, item.tables)])}
    return {"id": str(place), "fields": fields, "metadata": {**item.key, "asked": item.asked}}


def read_records(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Read what people said.

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
        given = _given(path)
        if not given or not all(isinstance(record, dict) for record in given):
            raise DataError(f"{path}: expected records of a form: a list of objects, or lines")
        for record in (flat for one in given for flat in _flat(one)):
            name = record.get("annotator")
            annotator = path.stem if name in (None, "") else str(name)
            records.append({**record, "annotator": annotator, "file": path})
    return records


def _given(path: Path) -> list[Any]:
    try:
        if path.stat().st_size > LARGEST:
            raise DataError(f"{path}: has more than {LARGEST:,} bytes; a file of labels is smaller")
        text = path.read_bytes().decode("utf-8-sig")
        if path.suffix == ".csv":
            return _rows_of_csv(text)
        if path.suffix == ".jsonl":
            return [parse_json(line) for line in text.split("\n") if line.strip()]
        found = parse_json(text)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, csv.Error) as error:
        raise DataError(f"{path}: is not what a form saves ({error})") from error
    return found if isinstance(found, list) else []


def _rows_of_csv(text: str) -> list[dict[str, str]]:
    before = csv.field_size_limit(LARGEST)  # tables are long fields
    try:
        rows = csv.DictReader(io.StringIO(text, newline=""), restval="")
        return [
            {name: _without_quote(value) for name, value in row.items() if name is not None}
            for row in rows
        ]
    finally:
        csv.field_size_limit(before)


def _without_quote(text: str) -> str:
    return text[1:] if text.startswith("'") and text[1:].startswith(_FORMULA) else text


def _flat(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a record of each person of a record of Argilla, and any other as it is."""
    responses = record.get("responses")
    if not isinstance(responses, dict) or not isinstance(record.get("metadata"), dict):
        yield dict(record)
        return
    said: dict[str, dict[str, Any]] = {}
    for name, given in responses.items():
        for one in given if isinstance(given, list) else ():
            said.setdefault(str(one.get("user_id")), {})[name] = one.get("value")
    for user, values in said.items():
        yield {**record["metadata"], **values, "annotator": user}
