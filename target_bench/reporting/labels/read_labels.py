"""Labels that a form saved: files of JSON from outside, checked before anything uses them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from target_bench.core.errors import DataError
from target_bench.core.schema import Corpus, Query, TableId
from target_bench.reporting.forms.form_page import SavedFile
from target_bench.reporting.forms.read_saved import check_persons, entries, saved_object

SAVED = SavedFile("target-bench labels", 1, who="annotator", what="labels")
"""The file that a form about labels saves."""

Label = Literal["relevant", "not relevant", "cannot say"]
Verdict = Literal["accepted", "rejected"]

_LABELS: tuple[str, ...] = get_args(Label)
_VERDICTS: tuple[str, ...] = get_args(Verdict)
_FIELDS = ("asked", "question", "text", "tables")
_MOST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class QuestionLabels:
    """What one person said of a question.

    Attributes:
        verdict: of the question itself; None where nothing was said.
        text: the question as the person edited it; None where it was not.
        tables: table -> its label; None of one that is not judged yet.
    """

    verdict: Verdict | None
    text: str | None
    tables: Mapping[TableId, Label | None]


@dataclass(frozen=True, slots=True)
class Labels:
    """What one person filled in.

    Attributes:
        annotator: the name that they gave; may be empty.
        by: the properties that the sample of questions is proportional over.
        by_query: query id -> what was said; of what was filled in only.
    """

    annotator: str
    by: tuple[str, ...]
    by_query: Mapping[str, QuestionLabels]


def read_labels(path: Path, queries: Sequence[Query], corpus: Corpus) -> Labels:
    """Read a file that a form saved.

    Args:
        path: the file.
        queries: those that the form asked about, and perhaps others.
        corpus: the tables.

    Raises:
        DataError: it is not such a file, names a question or a table that there is not, has a
            question in other words, or holds no label; the message says which.
    """
    record = saved_object(path, SAVED)
    by = record.get("by", "")
    if not isinstance(by, str):
        raise DataError(f"{path}: by: expected a text, found {by!r:.60}")
    known = {query.id: query for query in queries}
    given = entries(path, record, SAVED.what)
    unknown = [name for name in given if name not in known]
    if unknown:
        listed = ", ".join(repr(name)[:60] for name in unknown[:_MOST_SHOWN])
        raise DataError(
            f"{path}: labels: {len(unknown)} of {len(given)} questions are not among those of the "
            f"corpus: {listed}. Name the corpus and the split that the form was written for"
        )
    found = {name: _question(path, known[name], one, corpus) for name, one in given.items()}
    if not any(one.verdict or any(one.tables.values()) for one in found.values()):
        raise DataError(f"{path}: labels: nothing is labelled")
    return Labels(record[SAVED.who], tuple(filter(None, by.split(","))), found)


def read_all(paths: Sequence[Path], queries: Sequence[Query], corpus: Corpus) -> list[Labels]:
    """Read the files of several people.

    Raises:
        DataError: as for ``read_labels``; or two are of the same person, or of forms whose samples
            were drawn by other properties.
    """
    found = [read_labels(path, queries, corpus) for path in paths]
    for path, one in zip(paths, found, strict=True):
        if one.by != found[0].by:
            raise DataError(
                f"{path}: by: the sample of its form was drawn {_drawn(one.by)}, and that of "
                f"{paths[0]} {_drawn(found[0].by)}; read the files of each form by themselves"
            )
    check_persons(paths, [one.annotator for one in found], SAVED.who)
    return found


def _drawn(by: Sequence[str]) -> str:
    return f"by {', '.join(by)!r:.60}" if by else "from all questions alike"


def _question(path: Path, query: Query, given: Any, corpus: Corpus) -> QuestionLabels:
    place = f"{path}: labels of {query.id!r:.60}"
    if not isinstance(given, dict) or set(given) - set(_FIELDS):
        raise DataError(f"{place}: expected an object with {', '.join(_FIELDS)}, not {given!r:.80}")
    asked, text, verdict = (given.get(name) for name in ("asked", "text", "question"))
    for name, value in (("asked", asked), ("text", text)):
        if not isinstance(value, str | None):
            raise DataError(f"{place}, {name!r}: expected a text, found {value!r:.60}")
    if text is not None and not text.strip():
        raise DataError(f"{place}, 'text': the edited question is empty; reject it instead")
    if query.text not in (asked, text):
        raise DataError(
            f"{place}, 'asked': the form asked {asked!r:.80}, and the corpus has {query.text!r:.80}"
            "; write a new form, as labels are for the words that were shown"
        )
    if verdict not in (None, *_VERDICTS):
        raise DataError(
            f"{place}, 'question': expected {' or '.join(_VERDICTS)}, found {verdict!r:.40}"
        )
    tables = _tables(place, given.get("tables", []), corpus)
    return QuestionLabels(verdict, None if text == asked else text, tables)


def _tables(place: str, given: Any, corpus: Corpus) -> dict[TableId, Label | None]:
    found: dict[TableId, Label | None] = {}
    if not isinstance(given, list):
        raise DataError(f"{place}, 'tables': expected a list, found {given!r:.60}")
    for one in given:
        if not (isinstance(one, list) and len(one) == 3 and all(_is_text(v) for v in one[:2])):
            raise DataError(
                f"{place}, 'tables': expected [database, table, label], found {one!r:.80}"
            )
        table, label = TableId(one[0], one[1]), one[2]
        if table not in corpus:
            raise DataError(
                f"{place}, 'tables': there is no table {str(table)!r:.80} in the corpus"
            )
        if table in found:
            raise DataError(f"{place}, 'tables': {str(table)!r:.80} is there twice")
        if label not in (None, *_LABELS):
            raise DataError(
                f"{place}, {str(table)!r:.80}: expected {', '.join(_LABELS)} or null, "
                f"found {label!r:.40}"
            )
        found[table] = label
    return found


def _is_text(value: object) -> bool:
    return isinstance(value, str)
