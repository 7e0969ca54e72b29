r"""Read the label that a model gives to a statement: True, False or Not Enough Information.

An answer is read in this order; the first part that holds a verdict decides:

1. reasoning blocks are taken out (``target_bench.core.reasoning``);
2. JSON: the fields ``label``, ``verdict``, ``answer`` and the like; where none of them holds a
   label, ``is_true`` and the like;
3. answers that are marked: "Answer:", "Verdict:", ``\boxed{}``, ``<answer>``; of these the final
   ones if there are any;
4. verdicts alone ("False.", "No, the table ...") and sentences about the statement ("the claim is
   not supported by the table");
5. words of verdict that may be about something else.

Every wording allows a set of labels: "true" one, "not supported" two, "might be true" all. The
label is read where the wordings of the deciding part leave exactly one; where they leave several,
or contradict each other, there is none: an unread answer is seen and counted, a wrong one is not.
English only.
"""

import re

from target_bench.core.reasoning import without_reasoning
from target_bench.core.schema import LabelMode
from target_bench.metrics.classification import FALSE, NOT_ENOUGH, TRUE
from target_bench.metrics.labels.evidence import (
    ANY,
    NO,
    UNKNOWN,
    YES,
    Evidence,
    Labels,
    Weight,
    common,
)
from target_bench.metrics.labels.layout import Field, Layout, fields, layout
from target_bench.metrics.labels.phrases import WAIT
from target_bench.metrics.labels.predicates import counterfactual
from target_bench.metrics.labels.questions import Asked, question
from target_bench.metrics.labels.sentences import evidence
from target_bench.metrics.labels.verdicts import alone
from target_bench.metrics.labels.vocabulary import CONTRAST

_REPLY = re.compile(r"(yes|no)\b(?![.!]? ?\d)")
_LONGEST = 10_000
"""Characters of an answer that are read: of a longer one the first and the last half of them."""


def parse_label(text: str, mode: LabelMode = "strict") -> str | None:
    """Return the label in an answer, or None where none can be read.

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
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]}\n{text[-half:]}"


def _read(text: str) -> Labels:
    in_json = fields(text)
    if in_json:
        named = [labels for f in in_json if not f.flag and (labels := _field(f)) != ANY]
        return common(named or map(_field, in_json))
    parts = layout(text)
    verdicts, said, aside = _sentences(parts)
    marked = _marked(parts)
    if marked is not None:
        return common([marked, *verdicts])
    if not verdicts and not said:
        return common(aside)
    labels = common([*verdicts, *said])
    return common([labels, *aside]) if len(labels) > 1 else labels


def _field(field: Field) -> Labels:
    labels = _short(field.value.strip().lower().replace("_", " "))
    if not field.denies:
        return labels
    return NO if labels == YES else YES if labels == NO else labels


def _marked(parts: Layout) -> Labels | None:
    """Return the labels of marked answers, final ones first; None where none has a verdict."""
    final = [marked for marked in parts.marked if marked.final]
    for candidates in (final, parts.marked):
        read = [_short(marked.text) for marked in candidates]
        held = [labels for labels in read if labels != ANY]
        if held:
            return common(held)
    return None


def _short(text: str) -> Labels:
    """Return the labels of a text that should be a verdict or such a sentence; any if not."""
    whole = alone(text) or _sign(text)
    if whole is not None:
        return whole
    verdicts, said, aside = _sentences(layout(text))
    return common(verdicts or said or aside)


def _sign(text: str) -> Labels | None:
    """Return the label of a check mark or a cross alone."""
    if re.search(r"\w", text):
        return None
    signs = {YES: "✅✓✔☑👍", NO: "❌✗✘🚫👎"}
    held = [labels for labels, those in signs.items() if any(sign in text for sign in those)]
    return held[0] if len(held) == 1 else None


def _sentences(parts: Layout) -> tuple[list[Labels], list[Labels], list[Labels]]:
    """Return the labels that sentences allow: verdicts alone, about the statement, others."""
    found: list[Evidence] = []
    wish: Labels | None = None
    last = len(parts.sentences) - 1
    asked: Asked | None = None
    for number, sentence in enumerate(parts.sentences):
        reply = _REPLY.match(sentence)
        if asked is not None and reply:
            labels = asked.yes if reply[1] == "yes" else asked.no
            found += [] if labels is None else [Evidence(labels, Weight.VERDICT)]
            asked = None
            sentence = sentence[reply.end() :].strip(" ,.!:;–—-")
            if not sentence:
                continue
        asked = question(sentence)
        if WAIT.match(sentence):
            found = []
        elif number and CONTRAST.match(sentence):
            found = [item for item in found if not item.hedged]
            known = any(item.labels == UNKNOWN for item in evidence(sentence, False, False))
            found += [] if wish is None or known else [Evidence(wish, Weight.SAID)]
        found += evidence(sentence, number == 0, number == last)
        wish = counterfactual(sentence)

    def of(weight: Weight) -> list[Labels]:
        return [item.labels for item in found if item.weight == weight]

    return of(Weight.VERDICT), of(Weight.SAID), of(Weight.ASIDE)
