"""Answers from files: every format gives the same, and what is wrong is said with its place."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import DataError
from target_bench.core.schema import Generation, GenerationRequest, Query
from target_bench.core.unicode_text import compose
from target_bench.generators.replay import Replay
from target_bench.runs.record_log import ANSWERS as ANSWER_LOG
from tests.builders import HOWS, How, json_lines, write_release

ANSWERS = {"q1": "Ann", "q2": "42", "q3": ""}
BIRD = "\t----- bird -----\t"

Written = Mapping[str, str]
Content = Callable[[Written], str]


def _bird(answers: Written) -> str:
    texts = enumerate(answers.values())
    return json.dumps({str(i): f"{text}{BIRD}cups" for i, text in texts}, indent=4)


def _records(id_field: str, text_field: str, answers: Written) -> list[dict[str, str]]:
    return [{id_field: query_id, text_field: text} for query_id, text in answers.items()]


WITH_IDS: dict[str, Content] = {
    "lines": lambda a: json_lines(_records("query_id", "text", a)),
    "lines-no-end": lambda a: json_lines(_records("feta_id", "pred", a)).removesuffix("\n"),
    "lines-bom": lambda a: "\ufeff\n" + json_lines(_records("id", "answer", a)),
    "list": lambda a: json.dumps(_records("question_id", "prediction", a)),
    "list-indented": lambda a: "\n" + json.dumps(_records("id", "answer", a), indent=2),
    "object": json.dumps,
    "object-indented": lambda a: json.dumps(a, indent=2) + "\n",
    "reference": lambda a: json.dumps({"reference": dict(a)}, indent=2),
}
WITHOUT_IDS: dict[str, Content] = {
    "text": lambda a: "".join(f"{text}\n" for text in a.values()),
    "text-crlf": lambda a: "".join(f"{text}\r\n" for text in a.values()),
    "bird": _bird,
}


def _answers(folder: Path, name: str, answers: Written, how: How = "plain") -> dict[str, str]:
    content = (WITH_IDS | WITHOUT_IDS)[name](answers)
    path = write_release(folder, "predictions", content, how)
    if name in WITH_IDS:
        return Replay(str(path)).answers
    order = write_release(folder, "order.json", json.dumps(list(answers)), how)
    ordered = Replay(str(path), str(order)).answers
    assert _ordered(path, list(answers)).answers == ordered
    if name == "bird":
        assert all(text.endswith(f"{BIRD}cups") for text in ordered.values())
    return {query_id: text.removesuffix(f"{BIRD}cups") for query_id, text in ordered.items()}


def _ordered(path: Path, ids: list[str]) -> Replay:
    replay = Replay(str(path))
    replay.query_ids = ids
    return replay


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("name", [*WITH_IDS, *WITHOUT_IDS])
def test_every_format_gives_the_same_answers(tmp_path: Path, name: str, how: How) -> None:
    assert _answers(tmp_path, name, ANSWERS, how) == ANSWERS


line = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=12)


name = st.text(min_size=1, max_size=5).map(compose)  # as ids are read


@given(st.dictionaries(name, line, min_size=2, max_size=5), st.data())
def test_any_answers(
    tmp_path_factory: pytest.TempPathFactory, answers: dict[str, str], data: st.DataObject
) -> None:
    """Whatever ids and answers hold: quotes, separators of Unicode, brackets, blanks."""
    first = next(iter(answers.values())).lstrip()[:1]
    plain = ["bird"] if first in ("[", "{", "\ufeff") else [*WITHOUT_IDS]
    if any(value == "" for value in [*answers.values()][:1]):
        plain = ["bird"]
    ids = [*WITH_IDS] if not {"query_id", "question_id", "feta_id", "id"} & set(answers) else []
    name = data.draw(st.sampled_from([*ids, *plain]))
    assert _answers(tmp_path_factory.mktemp("files"), name, answers) == answers


def test_own_log_is_a_predictions_file(tmp_path: Path) -> None:
    """A query that failed and was answered later has its answer; one that failed has none."""
    with ANSWER_LOG.open(tmp_path) as append:
        append(
            [
                Generation("q1", "Ann", shown_rows=(3, -1), truncated=True),
                Generation("q2", "", error="raised: ValueError: no"),
                Generation("q3", "", error="raised: ValueError: no"),
                Generation("q2", "Bo", cost=0.5),
            ]
        )
    replay = Replay(str(tmp_path / "generations.jsonl"))
    assert replay.answers == {"q1": "Ann", "q2": "Bo"}
    missing = replay.generate(GenerationRequest("q3", "question_answering", (), "Who?"))
    assert missing.error == "missing: no answer in generations.jsonl"
    assert missing.text == ""


def test_bird_needs_every_position(tmp_path: Path) -> None:
    """A position that is missing would shift nothing, but may not go unnoticed either."""
    whole = json.loads(_bird({"a": "SELECT 1", "b": "SELECT 2", "c": "SELECT 3"}))
    del whole["1"]
    path = write_release(tmp_path, "p.json", json.dumps(whole))
    replay = _ordered(path, ["a", "b", "c"])
    with pytest.raises(DataError, match=r"p\.json: no answer at position '1'"):
        _ = replay.answers


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["the file is empty"]),
        ('[{"query_id": "a", "text": "x"}', ["not valid JSON at line 1"]),
        ('{\n  "a": "x",\n  "b" "y"\n}', ["not valid JSON at line 3, column 7"]),
        ('{"a": "x"', ["not valid JSON at line 1"]),
        ('{"a": "x", "a": "y"}', ["the key 'a' occurs twice"]),
        ('{"id": "a", "text": "x"}\n{"id": "b", "te', [", line 2: not valid JSON at column"]),
        ('{"id": "a", "text": "x"}\n\n{"id": "a", "text": "x"}', [", line 3: query 'a' was ans"]),
        ('[{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]', [", record 2: query 'a' was"]),
        ('[{"id": "a", "text": "x"}, "y"]', [", record 2: field 'record': expected dict"]),
        ('[{"id": "a", "text": [1]}]', [", record 1: expected an answer as text, found [1]"]),
        ('{"id": "a", "text": ["x"]}', ["expected an answer as text, found ['x']"]),
        ('{"a": "x", "b": {"c": "y"}}', [", b: expected an answer as text"]),
        ('{"text": "x", "id_": "a"}\n{"text": "y"}', ["line 1: no field query_id or", "text, id_"]),
        ('[{"id": "a", "txt": "x"}]', ["record 1: no field text or prediction", "id, txt"]),
        ("x\n", ["1 line for 3 queries", "--order"]),
        ("x\ny\n", ["2 lines for 3 queries", "--order"]),
        ("x\ny\nz\n\n", ["4 lines for 3 queries"]),
        (_bird({"a": "x"}), ["1 answer for 3 queries", "--order"]),
    ],
)
def test_broken_file(tmp_path: Path, content: str, parts: list[str]) -> None:
    path = write_release(tmp_path, "predictions", content)
    replay = _ordered(path, ["a", "b", "c"])
    with pytest.raises(DataError) as caught:
        _ = replay.answers
    for part in (str(path), *parts):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("order", "parts"),
    [
        ('["a", "b"', ["order.json: not valid JSON"]),
        ('{"a": 1}', ["order.json: expected a JSON list of query ids"]),
        ('["a", "b", "a"]', ["order.json, entry 3: ", "is a duplicate"]),
        ('["1", 2, 1]', ["order.json, entry 3: ", "is a duplicate"]),
        ('["a", null, "c"]', ["order.json, entry 2: None is not a query id"]),
        ('["a", true, "c"]', ["order.json, entry 2: True is not a query id"]),
        ('["a", ["b"], "c"]', ["order.json, entry 2: ['b'] is not a query id"]),
        ('["a", "b"]', ["p.txt: 3 lines for 2 query ids in"]),
    ],
)
def test_broken_order(tmp_path: Path, order: str, parts: list[str]) -> None:
    path = write_release(tmp_path, "p.txt", "x\ny\nz\n")
    replay = Replay(str(path), str(write_release(tmp_path, "order.json", order)))
    with pytest.raises(DataError) as caught:
        _ = replay.answers
    for part in parts:
        assert part in str(caught.value)


def test_no_order_at_all(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"p\.txt: names no query ids; list them in JSON with --order"
    ):
        _ = Replay(str(write_release(tmp_path, "p.txt", "x\n"))).answers


def test_config_is_of_the_content(tmp_path: Path) -> None:
    """Wherever the files lie; and of the order of the queries, where that decides."""
    path = write_release(tmp_path / "a", "p.txt", "x\ny\n")
    config = Replay(str(path)).config()
    copy = write_release(tmp_path / "b", "other.txt", "x\ny\n")
    assert Replay(str(copy)).config() == config
    assert _ordered(path, ["a", "b"]).config() != _ordered(path, ["b", "a"]).config()
    order = write_release(tmp_path, "order.json", '["a", "b"]')
    assert Replay(str(path), str(order)).config() != config
    path.write_text("x\nz\n", encoding="utf-8")
    assert Replay(str(path)).config() != config


def test_lines_of_spiders_files(tmp_path: Path) -> None:
    """The text behind the last tab is the database, if that is so of every line."""
    path = write_release(tmp_path, "gold.sql", "SELECT 'a\tb' FROM t\tdb_1\nnonsense\tdb_1\n")
    expected = {"a": f"SELECT 'a\tb' FROM t{BIRD}db_1", "b": f"nonsense{BIRD}db_1"}
    assert _ordered(path, ["a", "b"]).answers == expected
    for other in ("SELECT 1\tdb\nSELECT 2\n", "Ann\tOslo\nBo\tBern\n"):
        path = write_release(tmp_path, "p.txt", other)
        assert list(_ordered(path, ["a", "b"]).answers.values()) == other.splitlines()


def test_keys_that_are_positions(tmp_path: Path) -> None:
    """BIRD's form without its marker; where the ids are just these keys, they are ids."""
    path = write_release(tmp_path, "p.json", '{"0": "x", "1": "y", "2": null}')
    replay = _ordered(path, ["7", "1", "0"])
    assert replay.answers == {"7": "x", "1": "y"}
    assert replay.in_corpus_order
    assert _ordered(path, ["2", "1", "0"]).answers == {"0": "x", "1": "y"}
    assert _ordered(path, ["0", "1", "2", "3"]).answers == {"0": "x", "1": "y"}
    with pytest.raises(DataError, match=r"cover 3 of 4 queries\. Name the order .* --order"):
        _ = _ordered(path, ["7", "1", "0", "9"]).answers
    order = write_release(tmp_path, "order.json", '["7", "1", "0"]')
    assert Replay(str(path), str(order)).answers == {"7": "x", "1": "y"}


def _numbered(*ids: str) -> list[Query]:
    index = {"7": 0, "9": 1, "7#2": 2}
    return [Query(name, "?", (), metadata={"index": index[name]}) for name in ids]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (_records("question_id", "SQL", {"7": "x", "9": "y"}), {"7": "x", "9": "y", "7#2": "x"}),
        (
            [
                *_records("question_id", "SQL", {"7": "x", "9": "y"}),
                *_records("question_id", "SQL", {"7": "z"}),
            ],
            {"7": "x", "9": "y", "7#2": "z"},
        ),
        ({"7": "x", "9": "y"}, {"7": "x", "9": "y", "7#2": "x"}),
        ({"7": f"x{BIRD}cups", "9": "y"}, {"7": f"x{BIRD}cups", "9": "y", "7#2": f"x{BIRD}cups"}),
        ({"0": "x", "1": "y", "2": f"z{BIRD}cups"}, {"7": "x", "9": "y", "7#2": f"z{BIRD}cups"}),
    ],
)
def test_two_queries_with_one_id(tmp_path: Path, content: object, expected: Written) -> None:
    """As BIRD mini-dev has: its id is answered once or twice, or the places are."""
    forms = [json.dumps(content)]
    if isinstance(content, list):
        forms.append(json_lines(content))
    for form in forms:
        replay = _ordered(write_release(tmp_path, "p.json", form), ["7", "9", "7#2"])
        replay.note_queries(_numbered("7", "9", "7#2"))
        assert replay.answers == expected
    if isinstance(content, list):
        thrice = [*content, *content, *content]
        replay = _ordered(write_release(tmp_path, "p.json", json.dumps(thrice)), ["7", "9", "7#2"])
        replay.note_queries(_numbered("7", "9", "7#2"))
        with pytest.raises(DataError, match="was answered before"):
            _ = replay.answers


@pytest.mark.parametrize(
    ("asked", "expected"),
    [(("7", "9"), {"7": "x", "9": "y"}), (("7#2",), {"7": "x", "7#2": "z", "9": "y"})],
)
def test_a_sample_holds_one_of_two_queries_with_one_id(
    tmp_path: Path, asked: tuple[str, ...], expected: Written
) -> None:
    records = [("7", "x"), ("9", "y"), ("7", "z")]
    content = [{"question_id": name, "SQL": text} for name, text in records]
    replay = Replay(str(write_release(tmp_path, "p.json", json.dumps(content))))
    replay.note_queries(_numbered(*asked), sampled=True)
    assert replay.answers == expected
