"""The labels of several people as one: by majority, with what they do not agree on apart."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from target_bench.core.schema import TableId
from target_bench.reporting.labels.read_labels import Labels, QuestionLabels, Verdict

State = Literal["labelled", "rejected", "disputed", "unfinished"]
"""``labelled``: every table was judged, or the question was accepted. ``disputed``: as many people
reject it as accept it, or they edited it differently. ``unfinished``: a table was not judged."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What people together say of a question.

    Attributes:
        state: how it stands.
        text: the question as it was edited; None where it was not.
        relevant: the tables that most found relevant.
        not_relevant: the tables that most found not relevant.
        disputed: the tables on which as many said one as the other.
        unclear: the tables of which all who judged them could not say.
        reviewed: whether anybody accepted the question itself.
    """

    state: State
    text: str | None
    relevant: tuple[TableId, ...]
    not_relevant: tuple[TableId, ...]
    disputed: tuple[TableId, ...]
    unclear: tuple[TableId, ...]
    reviewed: bool


def merged(labels: Sequence[Labels]) -> dict[str, Merged]:
    """Merge the labels of several people: query id -> what they say together."""
    ids = dict.fromkeys(query_id for one in labels for query_id in one.by_query)
    return {
        query_id: _merged([one.by_query[query_id] for one in labels if query_id in one.by_query])
        for query_id in ids
    }


def _merged(given: Sequence[QuestionLabels]) -> Merged:
    votes: dict[TableId, Counter[str]] = {}
    for one in given:
        for table, label in one.tables.items():
            votes.setdefault(table, Counter()).update([label] if label else [])
    parts: dict[str, list[TableId]] = {}
    for table, counted in votes.items():
        parts.setdefault(_outcome(counted), []).append(table)
    verdicts = Counter(verdict for one in given if (verdict := _verdict(one)))
    texts = {one.text for one in given if _verdict(one) == "accepted"}
    state = _state(verdicts, len(texts), "open" in parts)
    return Merged(
        state=state,
        text=texts.pop() if len(texts) == 1 else None,
        relevant=tuple(parts.get("relevant", ())),
        not_relevant=tuple(parts.get("not relevant", ())),
        disputed=tuple(parts.get("disputed", ())),
        unclear=tuple(parts.get("unclear", ())),
        reviewed=any(one.verdict == "accepted" for one in given),
    )


def _verdict(one: QuestionLabels) -> Verdict | None:
    """Return the verdict; who judges the tables of a question accepts it."""
    return one.verdict or ("accepted" if any(one.tables.values()) else None)


def _outcome(counted: Mapping[str, int]) -> str:
    for_it, against = counted.get("relevant", 0), counted.get("not relevant", 0)
    if for_it != against:
        return "relevant" if for_it > against else "not relevant"
    if for_it:
        return "disputed"
    return "unclear" if counted.get("cannot say") else "open"


def _state(verdicts: Counter[Verdict], n_texts: int, is_open: bool) -> State:
    accepted, rejected = verdicts["accepted"], verdicts["rejected"]
    if rejected > accepted:
        return "rejected"
    if (rejected and rejected == accepted) or n_texts > 1:
        return "disputed"
    return "unfinished" if is_open or not accepted else "labelled"
