"""``judgements.jsonl``: one line a query, appended as answers are judged, found by query id."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from target_bench.core.errors import StoreError
from target_bench.core.schema import Judgement
from target_bench.runs.record_log import Log, lines

_QUERY, _FINGERPRINT = "query_id", "fingerprint"


@dataclass(frozen=True, slots=True)
class StoredJudgements:
    """What the file holds.

    Attributes:
        by_query: query id -> its last judgement.
        n_lines: how many whole lines there are.
        damaged: of each line that is not what was written, what is wrong with it.
    """

    by_query: Mapping[str, Judgement] = field(default_factory=dict)
    n_lines: int = 0
    damaged: tuple[str, ...] = ()

    @property
    def n_earlier(self) -> int:
        """How many judgements do not say what they are of: version 0.1.0 wrote them."""
        return sum(not judgement.fingerprint for judgement in self.by_query.values())


class JudgementLog(Log[Judgement]):
    """The file, open for appending."""

    def line(self, value: Judgement) -> str:
        """Return the record between the query and the fingerprint."""
        return to_line(value)


def to_line(judgement: Judgement) -> str:
    """Return the JSON object of a judgement, without a line break."""
    head = {_QUERY: judgement.query_id}
    return json.dumps(
        {**head, **judgement.record, _FINGERPRINT: judgement.fingerprint}, ensure_ascii=False
    )


def parse(record: dict[str, Any]) -> Judgement:
    """Return what a line holds.

    Raises:
        KeyError, TypeError, ValueError: it is not a judgement.
    """
    found = dict(record)
    query_id, fingerprint = found.pop(_QUERY), found.pop(_FINGERPRINT, "")
    if not isinstance(query_id, str) or not isinstance(fingerprint, str):
        raise TypeError(f"{_QUERY} and {_FINGERPRINT} should be text")
    return Judgement(query_id, fingerprint, found)


def read(path: Path) -> StoredJudgements:
    """Return what the file holds; nothing without it. A torn last line is left out.

    Raises:
        StoreError: the file cannot be read at all.
    """
    found = list(lines(path, parse))
    whole = [one for one in found if isinstance(one, Judgement)]
    damaged = tuple(str(one) for one in found if isinstance(one, StoreError))
    return StoredJudgements({one.query_id: one for one in whole}, len(found), damaged)
