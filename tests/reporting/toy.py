"""A metric of a plug-in of which lower is better, and runs that were scored with it.

When the runs are read the plug-in is not there: whatever is shown of it was stored with the scores.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench.core.metric import Metric, MetricSpec
from target_bench.metrics.text import TextAnswers
from target_bench.tasks.question_answering import QuestionAnswering
from tests.builders import Recorder, only
from tests.target import TARGET

SPEC = MetricSpec(
    "edits",
    label="ED",
    description="mean difference in length from the nearest reference",
    scores="texts",
    scale="unbounded",
    highest=50,
    digits=1,
    higher_is_better=False,
    rank=0,
)


class Edits(Metric[TextAnswers]):
    """The mean difference in length; ``power`` makes it more than a mean of its values."""

    def __init__(self, power: float = 1.0) -> None:
        self.spec = SPEC if power == 1.0 else MetricSpec("edits_root", higher_is_better=False)
        self._power = power

    @property
    def signature(self) -> str:
        return f"{self.name}|length"

    def statistics(self, examples: TextAnswers) -> Any:
        pairs = zip(examples.texts, examples.references, strict=True)
        rows = [min(abs(len(text or "") - len(r)) for r in accepted) for text, accepted in pairs]
        return np.array([[row, 1.0] for row in rows])

    def value(self, totals: Any) -> Any:
        return (totals[..., 0] / totals[..., 1]) ** self._power


@contextmanager
def installed() -> Iterator[None]:
    """The plug-in is there, and question answering has its metrics."""
    own = QuestionAnswering.metrics
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            QuestionAnswering,
            "metrics",
            lambda self, queries, ks=(): [*own(self, queries, ks), Edits(), Edits(0.5)],
        )
        patch.setattr(QuestionAnswering, "main_metric", lambda self, queries: "edits")
        yield


def runs(out: Path) -> tuple[Path, Path]:
    """Answers from rankings of bm25, which are nearer to the references, and from random ones."""
    with installed():
        target = TARGET(("qa", "mini"), out=out, observer=Recorder())
        good, bad = (only(target.run(r, top_k=[1], limit=60)) for r in ("bm25", "random"))
    assert good.scores["edits"].value < bad.scores["edits"].value
    return good.folder, bad.folder
