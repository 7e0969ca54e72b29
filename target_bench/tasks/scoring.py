"""How answers are judged, as far as it can be chosen."""

from dataclasses import dataclass

from target_bench.schema import LabelMode


@dataclass(frozen=True, slots=True)
class Scoring:
    """How answers are judged; a task takes what concerns it.

    Attributes:
        labels: fact verification: how a label is read from an answer.
        bertscore: question answering: the model of the additional metric BERTScore, perhaps with
            ``@`` and its layer; None for none.
    """

    labels: LabelMode = "strict"
    bertscore: str | None = None
