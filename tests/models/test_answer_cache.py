"""The cache of answers: what it keeps, and what it survives."""

from contextlib import closing
from pathlib import Path

import pytest

from target_bench import GenerationRequest, Generator, Message
from target_bench.models.cache import (
    AnswerCache,
    ModelReply,
    request_key,
    select_unrecorded,
)
from target_bench.plugin_tools import ask_generator


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "deep"))
    return tmp_path / "deep" / "answers.sqlite"


def test_the_key_depends_on_everything() -> None:
    keys = {
        request_key(provider, url, body)
        for provider in ("openai", "other")
        for url in ("http://a", "http://b")
        for body in ({"seed": 0}, {"seed": 1}, {"seed": 0, "messages": ["\ud800"]})
    }
    assert len(keys) == 12
    assert request_key("p", "u", {"a": 1, "b": 2}) == request_key("p", "u", {"b": 2, "a": 1})


@pytest.mark.usefixtures("path")
def test_what_is_not_recorded() -> None:
    assert list(select_unrecorded("abca", str)) == ["a", "b", "c"]
    with closing(AnswerCache()) as cache:
        cache.put_reply("b", ModelReply("x"))
    assert list(select_unrecorded("abca", str)) == ["a", "c"]


class Echo(Generator):
    def generate(self, request: GenerationRequest) -> str:
        return f"You asked: {request.query}"


def test_half_a_surrogate_pair_is_recorded() -> None:
    """In a question and its answer; UTF-8 has no such character."""
    messages = (Message("user", "Who won \ud800?"),)
    request = GenerationRequest("q1", "qa", messages, "Who won \ud800?")
    for is_cached in (False, True):
        answer = ask_generator(Echo(), [request], "contexts")["q1"]
        assert (answer.text, answer.cached) == ("You asked: Who won \ud800?", is_cached)


@pytest.mark.parametrize(
    ("written", "damaged"),
    [(b"Paris, of course", b"Qaris, of course"), (b"stop", b"rtop"), (b"\xc3\xa9", b"\xc3\x69")],
)
def test_a_damaged_answer_is_asked_for_again(path: Path, written: bytes, damaged: bytes) -> None:
    """One bit of a row: the file is sound, the answer is not; other answers stay."""
    cache = AnswerCache()
    cache.put_reply("a", ModelReply("Paris, of course é", "stop", 3, 5))
    cache.put_reply("b", ModelReply("Oslo"))
    cache.close()
    content = path.read_bytes()
    assert content.count(written) == 1
    path.write_bytes(content.replace(written, damaged))
    cache = AnswerCache()
    assert (cache.get_reply("a"), cache.get_reply("b")) == (None, ModelReply("Oslo"))
    cache.put_reply("a", ModelReply("Paris"))
    assert cache.get_reply("a") == ModelReply("Paris")
    cache.close()
