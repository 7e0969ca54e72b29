"""Read the label that a language model gives to a statement: True, False, Not Enough Information.

An answer is read in this order; the first part that holds a verdict decides:

1. reasoning blocks are taken out (``target_bench.reasoning``);
2. JSON: the fields ``label``, ``verdict``, ``answer`` and the like, ``is_true`` and the like;
3. answers that are marked: "Answer:", "Verdict:", ``\\boxed{}``, ``<answer>``; of these the final
   ones if there are any;
4. verdicts alone ("False.", "No, the table ...") and sentences about the statement ("the claim is
   not supported by the table");
5. words of verdict that may be about something else.

Every wording allows a set of labels: "true" one, "not supported" two, "might be true" all. The
label is read where the wordings of the deciding part leave exactly one; where they leave several,
or contradict each other, there is none: an unread answer is seen and counted, a wrong one is not.
English only.
"""

from functools import reduce

from target_bench.metrics.classification import FALSE, LABELS, NOT_ENOUGH, TRUE
from target_bench.metrics.labels.layout import Layout, Marked, fields, layout
from target_bench.metrics.labels.sentences import (
    NO,
    YES,
    Evidence,
    Labels,
    Weight,
    alone,
    counterfactual,
    evidence,
)
from target_bench.metrics.labels.vocabulary import CONTRAST
from target_bench.reasoning import without_reasoning
from target_bench.schema import LabelMode

_LONGEST = 20_000  # characters of an answer that are read: one half at its start, one at its end
_ANY: Labels = frozenset(LABELS)


def parse_label(text: str, mode: LabelMode = "strict") -> str | None:
    """The label in an answer, or None where none can be read.

    Args:
        text: the answer.
        mode: ``strict``: as a person reads it, see above. ``target``: as the original package does
            it, "true" anywhere is True, else "false" anywhere is False, else Not Enough
            Information.
    """
    if mode == "target":
        lowered = text.lower()
        return TRUE if "true" in lowered else FALSE if "false" in lowered else NOT_ENOUGH
    labels = _read(_shortened(without_reasoning(text)))
    return next(iter(labels)) if len(labels) == 1 else None


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST // 2]}\n{text[-_LONGEST // 2 :]}"


def _read(text: str) -> Labels:
    found = fields(text)
    if found is not None:
        read = [_field(field.value, field.truth) for field in found]
        return reduce(Labels.__and__, read)
    parts = layout(text)
    bare, said, aside = _weighed(parts)
    marked = _marked(parts)
    if marked is not None:
        return marked & reduce(Labels.__and__, bare, _ANY)
    if bare or said:
        left = reduce(Labels.__and__, [*bare, *said])
        return left if len(left) < 2 else reduce(Labels.__and__, aside, left)
    return reduce(Labels.__and__, aside, _ANY)


def _field(value: str, truth: bool | None) -> Labels:
    said = _short(value.strip().lower())
    if truth is False:
        return NO if said == YES else YES if said == NO else said
    return said


def _short(text: str) -> Labels:
    """The labels of a text that should be a verdict, alone or as a sentence; all if it is not."""
    read = alone(text.replace("_", " "))
    if read is not None:
        return read
    bare, said, aside = _weighed(layout(text))
    return reduce(Labels.__and__, bare or said or aside, _ANY)


def _marked(parts: Layout) -> Labels | None:
    """What the marked answers allow; None where none of them holds a verdict."""
    final = [m for m in parts.marked if m.final]
    for candidates in (final, parts.marked):
        read = [_marked_one(m) for m in candidates]
        held = [labels for labels in read if labels != _ANY]
        if held:
            return reduce(Labels.__and__, held)
    return None


def _marked_one(marked: Marked) -> Labels:
    return _short(marked.text)


def _weighed(parts: Layout) -> tuple[list[Labels], list[Labels], list[Labels]]:
    """What the sentences allow: verdicts alone, sentences about the statement, others."""
    found: list[Evidence] = []
    wish: Labels | None = None
    last = len(parts.sentences) - 1
    for number, sentence in enumerate(parts.sentences):
        contrast = CONTRAST.match(sentence)
        if contrast and number:
            found = [item for item in found if not item.hedged]
            if wish:
                found.append(Evidence(wish, Weight.SAID))
        found += evidence(sentence, number == 0, number == last)
        wish = counterfactual(sentence)
    by_weight = {weight: [i.labels for i in found if i.weight == weight] for weight in Weight}
    return by_weight[Weight.VERDICT], by_weight[Weight.SAID], by_weight[Weight.ASIDE]
