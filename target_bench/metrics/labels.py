r"""Read the label that a model gives to a statement: True, False or Not Enough Information.

``parse_label("The claim is not true.")`` is ``"False"``; None for an answer that does not say
plainly which label is meant. Reasoning blocks are removed first (``target_bench.core.reasoning``).
Then the first of these that an answer has decides, also where no label can be read from it:

1. JSON: the fields ``label``, ``verdict``, ``answer`` and the like; where none of them holds a
   label, ``is_true`` and the like; of an object in another only where nothing can be read above;
2. nothing but what is a verdict only alone: a letter, a number, a sign, "unknown";
3. marked answers: "Answer: ...", "Verdict: ...", ``\boxed{}``, ``<answer>``; final ones first;
4. sentences that are a verdict ("False.", "No, the table ..."), and plain sentences about the
   statement ("the claim is refuted by the table", "this makes it false").

An answer with verdicts that differ has no label, nor has one with a sentence that mentions a
verdict in no such form ("the claim might be true"), unless another sentence is just a verdict.
Answers without a label are counted, so that users see them; wrong labels would go unseen. English
only.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from target_bench.core.reasoning import without_reasoning
from target_bench.core.schema import LabelMode
from target_bench.metrics.classification import FALSE, NOT_ENOUGH, TRUE

_LONGEST = 10_000  # characters; of a longer answer the first 5,000 and the last 5,000 are read
_LONGEST_SENTENCE = 500  # characters; the time of the patterns grows with their square


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
    text = without_reasoning(text)
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}\n{text[-_LONGEST // 2 :]}"
    given = _read_json(text)
    if given is not None:
        return _agree(given - {None})
    text = _normalise(text)
    if label := _read_short_verdict(text):
        return label
    marked = list(_find_marked_answers(text))
    final = [*_BOXED.findall(text), *_TAGGED.findall(text)]
    final += [answer for is_final, answer in marked if is_final]
    for answers in (final, [answer for _, answer in marked]):
        if answers:
            return _agree(_read_short_verdict(each) or _read_sentences(each) for each in answers)
    return _read_sentences(text)


def _agree(labels: Iterable[str | None]) -> str | None:
    """Return the label if all are the same; None if they differ or there is none."""
    distinct = set(labels)
    return distinct.pop() if len(distinct) == 1 else None


# JSON

_LABEL_KEYS = frozenset(
    """label verdict answer final_answer finalanswer result prediction classification judgment
    judgement decision conclusion veracity response output truth_value status truth final_verdict
    final_label predicted_label""".split()  # noqa: SIM905
)
_AFFIRMING_KEYS = frozenset(
    """is_true is_supported is_correct is_accurate supported correct true valid is_valid is_entailed
    entailed accurate holds istrue is_factual statement_is_true claim_is_true""".split()  # noqa: SIM905
)
_DENYING_KEYS = frozenset(
    """is_false false refuted is_refuted refutes contradicted is_contradicted contradicts
    contradiction is_contradiction incorrect is_incorrect wrong is_wrong untrue inaccurate
    is_inaccurate invalid disproved disproves is_disproved""".split()  # noqa: SIM905
)
_TOKEN = re.compile(  # of JSON, of Python, or of neither: the last string may be cut off
    r"""\s*(?:"(?P<double>(?:[^"\\]|\\.)*+)(?:"|\Z)|'(?P<single>(?:[^'\\]|\\.)*+)(?:'|\Z)"""
    r"""|(?P<bare>[\w.+-][\w .+-]*+)|(?P<sign>[{}\[\]:,]))""",
    re.DOTALL,
)
_DEEPEST = 50  # objects and lists in one another that are read
_decoder = json.JSONDecoder(strict=False)


def _read_json(text: str) -> set[str | None] | None:
    """Return the labels that the objects in a text give, None for one that cannot be read.

    None in place of the set: no object has a field of a verdict.
    """
    given, start = None, text.find("{")
    while start >= 0:
        try:
            record, end = _decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            record, end = _read_broken(text, start, _DEEPEST)
        labels = _read_record(record, _DEEPEST)
        if labels is not None:
            given = labels | (given or set())
        start = text.find("{", end)
    return given


def _read_record(record: Any, depth: int) -> set[str | None] | None:
    """Return the labels that an object gives, as ``_read_json``.

    What is deeper counts only where nothing above it can be read: it may be said of the evidence.
    """
    if isinstance(record, list):
        return _read_records(record, depth)
    named = {re.sub(r"[\s-]+", "_", key.strip().lower()): value for key, value in record.items()}
    plain = {key: value for key, value in named.items() if not _has_objects(value)}
    nested = {key: value for key, value in named.items() if _has_objects(value)}
    fields = {key: value for key, value in plain.items() if key in _LABEL_KEYS}
    labels = {_read_field(key, value) for key, value in fields.items()} - {None}
    if labels or any(_VOCABULARY.search(_normalise(_to_text(each))) for each in fields.values()):
        return labels or {None}  # "partly true" is a verdict, "status": "success" is none
    inner = _read_records([nested[key] for key in nested if key in _LABEL_KEYS], depth)
    if inner and inner != {None}:
        return inner
    other_keys = _AFFIRMING_KEYS | _DENYING_KEYS
    statements = {key: value for key, value in plain.items() if key in other_keys}
    labels = {_read_field(key, value) for key, value in statements.items()} - {None}
    if labels:
        return labels
    outer = _read_records([nested[key] for key in nested if key not in _LABEL_KEYS], depth)
    if outer and outer != {None}:
        return outer
    return {None} if fields or statements or inner or outer else None


def _read_records(records: Iterable[Any], depth: int) -> set[str | None] | None:
    """Return the labels that any of these objects and lists give."""
    given = None
    for record in records if depth else ():
        labels = _read_record(record, depth - 1) if isinstance(record, dict | list) else None
        if labels is not None:
            given = labels | (given or set())
    if given is None:
        return None
    return given - {None} or given


def _has_objects(value: Any) -> bool:
    """Return whether a value is an object, or a list with objects or lists in it."""
    items = value if isinstance(value, list) else ()
    return isinstance(value, dict) or any(isinstance(item, dict | list) for item in items)


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _read_broken(text: str, start: int, depth: int) -> tuple[dict[str, Any], int]:
    """Read an object that is no JSON as far as it is one; return where that ends, too.

    It may be cut off, written as in Python or without quotes, or have stray commas.
    """
    record: dict[str, Any] = {}
    at = start + 1
    while token := _TOKEN.match(text, at):
        if token["sign"] in ("}", ","):
            at = token.end()
            if token["sign"] == "}":
                break
            continue
        colon = _TOKEN.match(text, token.end())
        if token["sign"] or colon is None or colon["sign"] != ":":
            break
        name = token["double"] or token["single"] or token["bare"] or ""
        record[name], at = _read_value(text, colon.end(), depth - 1)
    return record, at


def _read_value(text: str, at: int, depth: int) -> tuple[Any, int]:
    """Read a value of a broken object; None, and nothing of the text, where there is none."""
    token = _TOKEN.match(text, at)
    if token is None or (token["sign"] and not (depth and token["sign"] in "{[")):
        return None, at
    if token["sign"] == "{":
        return _read_broken(text, token.end() - 1, depth)
    if token["sign"] != "[":
        return token["double"] or token["single"] or token["bare"] or "", token.end()
    items: list[Any] = []
    at = token.end()
    while token := _TOKEN.match(text, at):
        if token["sign"] == "]":
            return items, token.end()
        if token["sign"] == ",":
            at = token.end()
            continue
        item, end = _read_value(text, at, depth - 1)
        if end == at:
            break
        items.append(item)
        at = end
    return items, at


def _read_field(key: str, value: Any) -> str | None:
    text = _normalise(_to_text(value))
    label = _read_short_verdict(text) or _read_sentences(text)
    if key in _DENYING_KEYS:
        return {TRUE: FALSE, FALSE: TRUE}.get(label or "")
    return label


# Marked answers

_BOXED = re.compile(
    r"\\boxed\{\s*(?:\\(?:text|textbf|mathrm|mathbf)\s*\{)?\s*([^{}]{1,200})\}", re.IGNORECASE
)
_TAGS = "answer|label|verdict|final answer|output|response|solution"  # _ is a space here
_TAGGED = re.compile(rf"<(?:{_TAGS})>([^<]{{1,2000}})(?:</|\Z)")
_MARK = re.compile(
    r"(?P<final>\bfinal )?\b(?:answer|verdict|label|conclusion|result|judge?ment|classification"
    r"|decision|determination|assessment|prediction|evaluation|veracity|truth value|rating|ruling"
    r"|output|response|overall)(?: (?:for|of|to|on) (?:this|the|that) (?:statement|claim))?"
    r"(?: \([^()]{1,60}\))?\s*(?:is\s*)?(?::|=>|->|→|=|\s[-–—]\s)\s*"
)


def _find_marked_answers(text: str) -> Iterator[tuple[bool, str]]:
    """Yield whether a mark says "final", and the text after it up to the next mark or line."""
    for line in _iterate_own_lines(text):
        marks = list(_MARK.finditer(line))
        ends = [*(mark.start() for mark in marks[1:]), len(line)]
        for mark, end in zip(marks, ends, strict=False):
            answer = line[mark.end() : end].strip()
            if re.search(r"\w", answer):
                yield mark["final"] is not None, answer


# Sentences

_TRUE = (
    "true|correct|accurate|right|valid|factual|verified|confirmed|validated|supported|entailed"
    "|substantiated|corroborated|consistent"
)
_FALSE = (
    "false|untrue|incorrect|inaccurate|wrong|invalid|refuted|contradicted|disproved|disproven"
    "|debunked|inconsistent|erroneous|mistaken"
)
_BACKED = "verified|confirmed|validated|supported|entailed|substantiated|corroborated"
_REBUTTED = "refuted|contradicted|disproved|disproven|debunked"
"""With "not" these are no verdict: what is "not supported" may be false or unknown."""
_VERDICTS = {
    TRUE: rf"{_TRUE}|yes|yep|yeah|indeed|supports|support|entailment|entails|agree|affirmative",
    FALSE: rf"{_FALSE}|no|nope|not so|refutes|refute|contradiction|contradicts|disagree|negative",
}
_SHORT_VERDICTS = {TRUE: "t|1", FALSE: "f|0"}  # verdicts only where nothing else is there
_INFORMATION = "(?:info|information|data|evidence|context)"
_UNKNOWN = re.compile(
    rf"\b(?:not|n't) (?:\w+ )?(?:enough|sufficient) (?:\w+ )?{_INFORMATION}\b"
    rf"|\binsufficient (?:\w+ )?{_INFORMATION}\b"
    r"|\b(?:cannot|can't|can not|could not|couldn't) (?:\w+ )?be (?:\w+ )?(?:determined|verified"
    r"|confirmed or (?:denied|refuted)|established|judged|decided|assessed|checked|known"
    r"|answered)\b"
    r"|\b(?:cannot|can't|can not|unable to|not possible to|impossible to) (?:\w+ )?"
    r"(?:determine|verify|decide|judge|assess|tell|establish|ascertain) (?:whether|if|the|this)\b"
    r"|\b(?:unclear|unknown|uncertain|not (?:clear|known|certain|sure)) (?:whether|if)\b"
    r"|\b(?:cannot|can't|can not) be (?:said|told) (?:whether|if)\b"
    r"|\b(?:not able|insufficient) to (?:determine|verify|decide|judge|assess|tell)\b"
    r"|\bneither supports? nor (?:contradicts?|refutes?)\b|\bnei\b"
)
_UNKNOWN_ALONE = re.compile(
    rf"unknown|undetermined|unverifiable|inconclusive|neutral|unclear|uncertain|undecided|nei"
    rf"|not verifiable|insufficient|(?:cannot|can't) (?:say|tell)|not enough {_INFORMATION}"
    r"|(?:cannot|can't|can not) be (?:determined|verified|decided|known)"
)
_ADVERB = (
    "definitely|clearly|certainly|obviously|indeed|actually|in fact|simply|just|therefore|thus"
    "|also|both|fully|completely|entirely|totally|absolutely|demonstrably|factually|plainly|all"
)
_WHOLLY = "fully|completely|entirely|totally|wholly|strictly|exactly|quite|100%"
_HALF = "half|partly|partially|only partly|only partially|only half"
_CLAIM = (
    "(?:statement|claim|assertion|hypothesis|proposition|sentence|premise|quoted|answer|verdict"
    "|label)"
)
_SUBJECT = (
    r"(?:(?:the|this|that|your)(?: (?:given|above|entire|whole|correct|final))?"
    rf" {_CLAIM}(?: quoted)?"
    rf"|{_CLAIM}|it|this|that)"
)
_INTRODUCTION = re.compile(
    r"(?:so|therefore|thus|hence|overall|consequently|accordingly|and so|in conclusion"
    r"|in summary|in short|as a result|based on [^,.;]{1,60},|according to [^,.;]{1,60},"
    r"|i (?:would )?(?:think|believe|conclude|say)(?: that)?|we (?:can )?(?:conclude|see)(?: that)?"
    r"|(?:which|this|that) means(?: that)?"
    r"|the (?:tables?|data|evidence|rows?) (?:shows?|confirms?|indicates?|proves?)(?: that)?"
    r"|(?:because|since|as|after|in|from|given|looking at) [^,;?!]{1,120},"
    r"|my (?:answer|verdict) is(?: that)?)(?:[,:] ?| )"
)
"""Phrases that may introduce a statement."""
_END = (
    r"(?: (?:by|according to|based on|per|given|in light of) [^,.;:]{1,80})?"
    r"(?: overall| here| too| as stated| as written)?"
    r"(?P<rest>(?:[.,;:!)]| [–—-]|—| because\b| since\b| as\b(?! (?:long|far))| due to\b).*"
    r"|[^\w?]*)$"
)
_COPULA = r"(?: is|'s| was| are| must be| has to be| remains| is to be| should be)"
_PREDICATE = (
    rf"(?P<not> not|n't)?(?: (?:{_ADVERB}|(?P<wholly>{_WHOLLY})|(?P<half>{_HALF})))*"
    r" (?:an? |labell?ed(?: as)? |marked(?: as)? |considered |classified as )?"
)


def _compile_statement(term: str) -> re.Pattern[str]:
    return re.compile(rf"{_SUBJECT}{_COPULA}{_PREDICATE}(?P<term>{term})(?: {_CLAIM})?{_END}")


# "nothing in the table makes it false"
_NEGATION = re.compile(r"\b(?:nothing|none|neither|never|no|not)\b|n't\b")


def _compile_judgement(term: str) -> re.Pattern[str]:
    """Match "which makes the claim false"."""
    return re.compile(
        rf"(?:(?P<before>.*\b(?:which|this|that|table|data|so) )?(?:makes?|making|renders?|proves?)"
        r"|i (?:would |will )?(?:classify|label|mark|rate|judge|consider|deem|call|choose|answer))"
        rf" {_SUBJECT}(?: as| to be)?(?P<not> not)? (?P<term>{term}){_END}"
    )


_OPENING = {
    label: re.compile(
        rf"(?:(?:{_ADVERB}),? )?(?P<not>not )?(?:(?P<wholly>{_WHOLLY}) |(?P<half>{_HALF}) )?"
        rf"(?P<term>{terms})(?: (?:by|according to|based on) [^,.;]{{1,80}})?"
        r"(?P<rest>(?:[.,;:!)]| [–—-]|—| because\b| since\b| as\b(?! (?:long|far))).*|[^\w?]*)$"
    )
    for label, terms in _VERDICTS.items()
}
_STATEMENTS = [
    (label, compile_pattern(terms))
    for label, terms in _VERDICTS.items()
    for compile_pattern in (_compile_statement, _compile_judgement)
]
_PLAINLY = "(?:directly|clearly|fully|explicitly|strongly|completely|entirely|indeed|also|does) "
_SOURCE = (
    r"(?:the |this |these )?(?:(?:provided|given|above) )?(?:tables?|data|evidence|records?|rows?)"
)
_SOURCE_STATEMENTS = {
    TRUE: re.compile(
        rf"{_SOURCE} (?:{_PLAINLY})?"
        rf"(?:supports?|confirms?|verif(?:y|ies)|entails?|backs up) {_SUBJECT}{_END}"
    ),
    FALSE: re.compile(
        rf"(?:{_SOURCE} (?:{_PLAINLY})?(?:contradicts?|refutes?|disproves?) {_SUBJECT}"
        rf"|{_SUBJECT} (?:{_PLAINLY})?(?:contradicts?|conflicts with) {_SOURCE}"
        rf"|{_SUBJECT} (?:does not|doesn't) (?:match|agree with|align with) {_SOURCE}){_END}"
    ),
}
_TERM = re.compile(rf"\b(?:{_TRUE}|{_FALSE})\b")
_VOCABULARY = re.compile(
    rf"\b(?:{_TRUE}|{_FALSE}|yes|no|unsupported|unfounded|supports?|confirms?|contradicts?|refutes?"
    r"|entails?|disproves?|unknown|unclear|cannot|can't|uncertain)\b|n't\b"
)
_QUALIFIER = re.compile(
    r"\b(?:but|however|yet|wait|actually|although|though|except|unless|if|would|while|whereas"
    r"|nevertheless|in part|partly|partially|only|might|may|maybe|perhaps|possibly|probably|likely"
    r"|not sure|could|seems?|appears?|first|second|opposite|exceptions?|as long as|in case)\b"
)
"""Words that may take a verdict back, or limit it to a part of the statement."""
_REVERSAL = re.compile(
    r"(?:but|however|wait|yet|actually|hold on|no, wait|on second thought|correction|sorry"
    r"|apologies|my mistake|scratch that|i was wrong)\b"
)
_CONCESSION = re.compile(
    r"\b(?:but|however|although|though|still|either way|regardless|nevertheless)\b"
)
_FAULT = re.compile(
    r"\b(?:mismatch|discrepanc|errors?\b|mistakes?\b|inconsistenc|contradictions?\b)"
)
_CONTRARY = re.compile(
    r"(?:\bnot|n't) (?:\w+ )?(?:show|support|say|mention|state|match|contain|include|list)s?"
    rf" (?:this|that|it|the {_CLAIM})\b"
    r"|\bopposite\b|\b(?:first|second|other|last) part\b"
)
"""As _FAULT, this contradicts a verdict of "yes" or "true": "Yes, there is an error"."""
_FIELD_END = re.compile(r"\s*:\s*(?:yes|no)\W*")  # "false: no"
_PRONOUN = re.compile(rf"(?:it|this|that){_COPULA}\b")  # may be about a part of the statement
_HEDGED = re.compile(rf"\?$|^(?:yes|no)\b|{_QUALIFIER.pattern}")
_ALTERNATIVE = re.compile(r"or\b")
_CONCLUSION = re.compile(
    r"(?:and )?(?:so|therefore|thus|hence|overall|in conclusion|in summary|consequently)\b"
)


def _read_sentences(text: str) -> str | None:
    """Return the label that the sentences of a text agree on."""
    verdicts: list[str] = []  # labels of sentences that are a verdict
    statements: list[str] = []  # labels of sentences about the statement
    is_open = False  # whether a sentence mentions a verdict in no known form
    is_hedged = False  # whether such a sentence hedges or asks
    has_fault = False  # whether a sentence names a fault, of the table or the statement
    sentences = list(_split_sentences(text))
    for i, sentence in enumerate(sentences):
        if _ALTERNATIVE.match(sentence):
            return None  # "True. Or is it?"
        label = _read_opening_verdict(sentence)
        statement = None if label else _read_statement(sentence)
        if statement and 0 < i < len(sentences) - 1 and _PRONOUN.match(sentence):
            statement = None  # "It says they won. That is correct. It says by 10. The table ..."
        has_fault = has_fault or (not label and not statement and _names_fault(sentence))
        is_conclusion = _CONCLUSION.match(sentence) and (label or statement)
        if is_conclusion or _REVERSAL.match(sentence):
            # the sentences before were steps, or are taken back: "True. But wait, ..."
            verdicts, statements = [], []
            is_open = is_hedged = has_fault = False
        if label:
            verdicts.append(label)
        elif statement:
            (verdicts if is_conclusion else statements).append(statement)
        elif _VOCABULARY.search(sentence):
            is_open = True
            is_hedged = is_hedged or _HEDGED.search(sentence) is not None
    if is_hedged or (is_open and not verdicts):
        return None
    label = _agree(verdicts + statements)
    return None if label == TRUE and has_fault else label


def _names_fault(sentence: str) -> bool:
    has_fault = _FAULT.search(sentence) and not re.search(r"\b(?:no|not|any)\b|n't\b", sentence)
    return bool(has_fault or _CONTRARY.search(sentence))


def _read_short_verdict(text: str) -> str | None:
    """Return the label of a text that is only t, f, 1, 0, a sign like ✓, or "unknown"."""
    if re.match(r"\s*-\d", text):
        return None  # -1 is no 1
    text = text.strip(" .,!:;()[]'\"-–—*\n\t")
    if _UNKNOWN_ALONE.fullmatch(text):
        return NOT_ENOUGH
    for label, terms in _SHORT_VERDICTS.items():
        if re.fullmatch(terms, text):
            return label
    signs = {TRUE: "✅✓✔☑👍", FALSE: "❌✗✘🚫👎"}
    shown = {label for label, those in signs.items() if any(sign in text for sign in those)}
    return _agree(shown) if not re.search(r"\w", text) else None


def _read_opening_verdict(sentence: str) -> str | None:
    """Return the label of "False, because ..." and the like."""
    if len(sentence) > _LONGEST_SENTENCE:
        return None
    sentence = _strip_introduction(sentence)
    if _UNKNOWN_ALONE.fullmatch(sentence.strip(" .!,")):
        return NOT_ENOUGH
    for label, pattern in _OPENING.items():
        if match := pattern.match(sentence):
            return _read_opening_match(match, label)
    return None


def _read_opening_match(match: re.Match[str], label: str) -> str | None:
    if _FIELD_END.fullmatch(match["rest"]):
        return None
    opening, rest = _apply_modifiers(match, label), match["rest"].strip(" ,.!:;–—-")
    statement = _read_opening_verdict(rest) or _read_statement(rest)
    if match["term"] in ("true", "false"):
        return opening if statement in (None, opening) else None
    # "Yes, the claim is false" is false, and "yes, it is false that ..." is no verdict
    is_unsure = _TERM.search(rest) or _FAULT.search(rest) or _is_denied(rest, opening)
    return statement or (None if is_unsure else opening)


def _is_denied(rest: str, opening: str | None) -> bool:
    """Return whether "yes" goes on with "the table does not support the claim" and the like."""
    has_negation = re.search(r"\b(?:not|no|never)\b|n't\b", rest)
    is_about_claim = re.search(rf"\b{_CLAIM}\b", rest) or _CONTRARY.search(rest)
    return opening == TRUE and bool(has_negation and is_about_claim)


def _read_statement(sentence: str) -> str | None:
    """Return the label that a sentence about the statement gives it."""
    if len(sentence) > _LONGEST_SENTENCE:
        return None
    sentence = _strip_introduction(sentence)
    if unknown := _UNKNOWN.search(sentence):
        is_list = re.search(
            r"\btrue\W{1,3}(?:or )?false\b|\btrue\b.*\bfalse, (?:and|or) not enough", sentence
        )
        is_turned = _REVERSAL.match(sentence) or _CONCESSION.search(sentence, unknown.end())
        return None if is_list or is_turned else NOT_ENOUGH
    for label, pattern in _STATEMENTS:
        if match := pattern.fullmatch(sentence):
            if _FIELD_END.fullmatch(match["rest"] or ""):
                return None
            stated = _apply_modifiers(match, label)
            rest = (match["rest"] or "").strip(" ,.!:;–—-")
            # "That is right: the statement is wrong", "confirmed as wrong"
            other = _read_opening_verdict(rest) or _read_statement(rest)
            is_of_another = re.match(rf"as (?:being )?(?:an? )?(?:{_TRUE}|{_FALSE})\b", rest)
            return None if is_of_another or other not in (None, stated) else stated
    for label, pattern in _SOURCE_STATEMENTS.items():
        match = pattern.fullmatch(sentence)
        if match and not _QUALIFIER.search(match["rest"] or ""):
            return label
    return None


def _strip_introduction(sentence: str) -> str:
    while lead := _INTRODUCTION.match(sentence):
        sentence = sentence[lead.end() :]
    return sentence


def _apply_modifiers(match: re.Match[str], label: str) -> str | None:
    """Return the label of a verdict with its modifiers: "not true" and "half true" are False."""
    groups = match.groupdict()
    if _QUALIFIER.search(groups.get("rest") or "") or _NEGATION.search(groups.get("before") or ""):
        return None
    if not groups.get("not"):
        return FALSE if groups.get("half") else label
    may_be_unknown = re.fullmatch(rf"{_BACKED}|{_REBUTTED}", match["term"])  # "not supported"
    is_partial = groups.get("half") or (label == FALSE and groups.get("wholly"))  # "not all false"
    if may_be_unknown or is_partial:
        return None
    return FALSE if label == TRUE else TRUE


# Text

_MARKUP = (
    (re.compile("[‘’`´]"), "'"),
    (re.compile("[“”«»„]"), '"'),
    (re.compile(r"\\(?:text|textbf|mathbf|mathrm)\s*\{([^{}]*)\}"), r"\1"),
    (re.compile(r"</?(?:b|i|em|strong|br|p|code)\s*/?>|<\|[a-z_]{1,30}\|>|</?s>|\[/?inst\]"), " "),
    (re.compile(r"[*~#$]+"), ""),
    (re.compile(r"[_ \t\r\f\v\xa0]+"), " "),
    (re.compile(r"\|"), "\n"),
    (re.compile(r"(?m)^ *(?:(?:>|[-•–] |\d{1,2}[.)] |step \d{1,3}[:.]) *)+"), ""),
    (re.compile(r"\bnot\s+enough\s+info"), "not enough info"),
    (re.compile(r"\((true|false)\)"), r"\1"),
    (re.compile(r"\bno\. ?(?=\d)"), "number "),
)
_QUOTATION = re.compile(r'"([^"\n]{1,500})"|(?<!\w)\'([^\'\n]{1,500}?)\'(?!\w)')
_SENTENCE_END = re.compile(
    r"(?<=[.!?])[\"')\]]*\s+|\n+|;\s+"
    r"|,\s+(?=(?:and )?(?:so|therefore|thus|hence|which (?:means|makes)|making|meaning)\b)"
    r"|\s+(?=so (?:it|the|this) )"
)
_ECHO = re.compile(
    r"(?:statement|claim|question|hypothesis|premise|sentence|query|input|context|passage|evidence"
    r"|caption|table(?: \d+)?)\s*(?:\d+\s*)?:"
)
"""Start of a line that repeats the prompt."""
_REASON = re.compile(
    r"(?:reason(?:ing)?|explanation|justification|rationale|analysis|note|why)\s*:\s*"
)


def _normalise(text: str) -> str:
    """Return the text in lower case, with plain quotes, without markup and quotations."""
    text = text.replace("```", "\n").lower()
    for pattern, plain in _MARKUP:
        text = pattern.sub(plain, text)
    return _QUOTATION.sub(_unquote, text).strip()


def _unquote(match: re.Match[str]) -> str:
    """Return a quoted verdict itself; for other quotations the word ``quoted``."""
    inner: str = match[1] or match[2]
    is_verdict = _read_short_verdict(inner) or _read_opening_verdict(inner.strip(" .!,"))
    return inner if is_verdict else "quoted"


def _iterate_own_lines(text: str) -> Iterator[str]:
    """Yield the lines of an answer that do not repeat the prompt."""
    is_answered = False
    for line in map(str.strip, text.split("\n")):
        echo = _ECHO.match(line)
        if not echo:
            yield line
            verdict = _read_opening_verdict(_MARK.sub("", line, count=1))
            is_answered = is_answered or verdict is not None
            continue
        rest = line[echo.end() :].strip()
        if _read_opening_verdict(rest):  # "Claim: true" is an answer
            yield rest
        elif is_answered:  # after its answer a model may invent a next prompt, and answer it
            return


def _split_sentences(text: str) -> Iterator[str]:
    for line in _iterate_own_lines(text):
        for sentence in _SENTENCE_END.split(_REASON.sub("", line)):
            sentence = re.sub(r"^\W+", "", sentence).strip(" \"'()[]")
            if re.search(r"\w", sentence):
                yield sentence
