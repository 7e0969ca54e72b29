"""Plain technical English: words that code, messages, help and documents do not use."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

_COUNTED = (
    "cell|column|function|line|node|outcome|part|ranking|request|row|sentence|split|text|tuple"
)
WORDS = {
    r"(?<!there\s)\b(?:is|are|was|were)\s+no\s+(?!(?:longer|more|less|fewer)\b)[a-z]+": "is not a",
    r"\banew\b": "again",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"\bnobody\b": "no one, or say it directly",
    r"\btold\b": "gets, reported",
    r"\bhears?\b": "is notified of, gets",
    r"\bcannot be(?=[.,;)\"']|\s*\Z|\s*\n\s*\n)": "invalid; 'cannot be read' may stand",
    r"\bwhatever\b": "any, regardless of",
    r"\bso many\b": "this many, or the number",
    r"\bof one mind\b": "agree",
    r"\bis at this run\b": "is running this",
    rf"\b(?:a|an|one|three) (?:{_COUNTED})s?\s+an? [a-z]+": "one ... per ...",
    r'"""Return what\b': "Return the ..., with a noun",
}
"""Pattern -> what to write in its place."""

ALLOWED = {
    "target_bench/metrics/labels/": "wordings of answers that models give, which are read here",
}
"""Beginning of a path -> why these words stand there."""

_PATTERNS = [(re.compile(pattern, re.IGNORECASE), advice) for pattern, advice in WORDS.items()]


def _files() -> list[Path]:
    code = (ROOT / "target_bench").rglob("*")
    found = [file for file in code if file.suffix in {".py", ".j2", ".js"}]
    found += (ROOT / "docs").rglob("*.md")
    found += [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    return sorted(
        file for file in found if not file.relative_to(ROOT).as_posix().startswith(tuple(ALLOWED))
    )


def found_in(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, word and advice of each word that is not plain."""
    for pattern, advice in _PATTERNS:
        for match in pattern.finditer(text):
            yield text.count("\n", 0, match.start()) + 1, match[0], advice


@pytest.mark.parametrize("file", _files(), ids=lambda file: file.relative_to(ROOT).as_posix())
def test_words(file: Path) -> None:
    place = file.relative_to(ROOT).as_posix()
    words = sorted(found_in(file.read_text(encoding="utf-8")))
    found = [f"{place}:{line}: {word!r}; write: {advice}" for line, word, advice in words]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "Half is no retriever: it has no method",
        "these are no labels",
        "encode it anew",
        "mend its rights",
        "Nobody looks there",
        "what it is told",
        "an observer hears of it",
        "a setting that cannot be.",
        '"the argument cannot be"',
        "Whatever the order",
        "cut to so many tokens",
        "values are of one mind",
        "process 7 is at this run",
        "with one line a query",
        "a row a line",
        '"""Return what a table says."""',
    ],
)
def test_a_word_is_found_once(text: str) -> None:
    assert len(list(found_in(f"plain\n{text}"))) == 1
    assert next(found_in(f"plain\n{text}"))[0] == 2


@pytest.mark.parametrize(
    "text",
    [
        "there is no such file",
        "where there\nis no file",
        "There are no scores",
        "it is no longer used",
        "the file cannot be read: no permission",
        "a file that cannot be\n    read",
        "recommend, amendment, heard, Shears",
        "is not a retriever: it has no method retrieve",
        "one line per query; one row is a line",
    ],
)
def test_plain_words_pass(text: str) -> None:
    assert list(found_in(text)) == []
