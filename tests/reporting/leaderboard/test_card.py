import tracemalloc
from pathlib import Path

import pytest

from target_bench.core.errors import DataError
from target_bench.reporting.leaderboard.documents import Card, read_card
from tests.reporting.leaderboard.forging import Files, packed, refused, with_document

GOOD = """\
name: Wide Retriever
authors: [Ann Other, 李雷]
retriever_kind: dense
parameters: 110M
training_data:
  ottqa: yes
  fetaqa: no
  bird: unknown
chosen_on: validation
hardware: one A100
licence: MIT
open_weights: true
paper: https://example.org/a?b=1
"""


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "card.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_card(tmp_path: Path) -> None:
    card = read_card(written(tmp_path, GOOD))
    assert card.parameters == 110_000_000
    assert card.authors == ("Ann Other", "李雷")
    assert card.training_data == {"ottqa": "yes", "fetaqa": "no", "bird": "unknown"}
    assert card.contact is None
    assert Card.model_validate(card.model_dump(mode="json")) == card


@pytest.mark.parametrize(
    ("line", "change", "message"),
    [
        (1, "name: <script>alert(1)</script>", "without HTML"),
        (1, 'name: "a\\u202Eb"', r"U\+202E"),
        *(
            (1, f'name: "{blank} {blank}"', "is empty")
            for blank in ("\\u3164", "\\u2800", "\\uFE0F")
        ),
        (1, 'name: "a\\u0007b"', r"U\+0007"),
        (1, "name: " + "x" * 81, "at most 80"),
        (1, "name: 12", "valid string"),
        (2, "authors: []", "at least 1"),
        (2, "authors: [Ann, <b>Bo</b>]", "authors.1"),
        (3, "retriever_kind: magic", "'lexical'"),
        (4, "parameters: many", "such as 0, 110M or 7.5B"),
        (4, "parameters: -1", "greater than or equal"),
        (6, "  ottqa: perhaps", "training_data.ottqa"),
        (7, "  ../etc: no", "pattern"),
        (9, "chosen_on: all of them", "'nothing', 'train', 'validation', 'test'"),
        (10, "hardware: ''", "is empty"),
        (12, "open_weights: maybe", "valid boolean"),
        (13, "paper: javascript:alert(1)", "https://"),
        (13, "paper: https://ann:secret@example.org", "password"),
        (13, "paper: https://exa mple.org", "percent-encode"),
        (13, "paper: 'https://example.org/\"onload=x'", "percent-encode"),
        (13, "paper: https:///x", "https://"),
        (13, "paper: data:text/html,x", "https://"),
        (12, "website: https://example.org", "no such field"),
        (13, "paper: [[[[[[[[1]]]]]]]]", "valid string"),
    ],
)
def test_faults_stand_with_their_field(
    tmp_path: Path, line: int, change: str, message: str
) -> None:
    lines = GOOD.splitlines()
    lines[line - 1] = change
    with pytest.raises(DataError, match=message) as caught:
        read_card(written(tmp_path, "\n".join(lines) + "\n"))
    assert "card.yaml: " in str(caught.value)
    assert str(caught.value).replace("\n", "").isprintable()


def test_all_faults_are_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read_card(written(tmp_path, "name: X\nparameters: no\n"))
    assert "card.yaml: authors: is missing" in str(caught.value)
    assert "card.yaml: parameters" in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        b"name: \xff",
        b"",
        b"- a",
        b"x" * 70_000,
        b"\0",
        b"paper: *a",
        b"paper: !!python/object/apply:os.system [ls]",
        b"paper: {",
        b"? [a]\n: b",
        b"[" * 60_000,
    ],
    ids=lambda raw: ascii(raw[:20]),
)
def test_no_card(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DataError, match=r"card\.yaml"):
        read_card(written(tmp_path, content))


def test_bomb_of_aliases(tmp_path: Path) -> None:
    pairs = zip("abcdefg", "bcdefgh", strict=True)
    grown = [f"{name}: &{name} [{f'*{before},' * 9}]" for before, name in pairs]
    path = written(tmp_path, "\n".join(['a: &a ["x", "x"]', *grown]))
    tracemalloc.start()
    with pytest.raises(DataError, match=r"an alias .* is not read"):
        read_card(path)
    assert tracemalloc.get_traced_memory()[1] < 10 * 1024 * 1024
    tracemalloc.stop()


@pytest.mark.parametrize(
    "change",
    [
        {"name": "x" * 3_000_000}, {"name": "\ud800"}, {"name": "a\u2066b"}, {"name": None},
        {"hardware": "<img src=x onerror=alert(1)>"}, {"authors": ["x"] * 51}, {"more": 1},
        {"code": "JaVaScRiPt:alert(1)"}, {"parameters": 10**16}, {"parameters": True},
        {"training_data": {f"c{i}": "no" for i in range(101)}},
    ],
    ids=lambda change: ascii(change)[:40],
)  # fmt: skip
def test_hostile_cards_in_archives(at: Path, rankings: Files, change: dict[str, object]) -> None:
    forged = with_document(rankings, "card.json", lambda card: card.update(change))
    assert "card.json" in refused(packed(at, forged))
