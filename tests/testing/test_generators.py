"""The checks of a generator pass what keeps the contract, and name what does not."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from target_bench.core import registry
from target_bench.core.contract import Generator
from target_bench.core.errors import DataError
from target_bench.core.observer import Observer
from target_bench.core.schema import Generation, GenerationRequest
from target_bench.testing import check_generator, generator_checks, samples
from target_bench.testing.systems import GeneratorContract
from tests.builders import ROOT
from tests.testing.faults import broken, expect_fault

KEY = "sk-verysecret-0123456789"


class Sound(Generator):
    """Says how long the question is; refuses what is too long."""

    follows_schema = True

    def __init__(self, word: str = "characters") -> None:
        self.word = word

    def generate(self, request: GenerationRequest) -> Generation | str:
        if len(request.query) > 1_000:
            return Generation(request.query_id, "", error="context: too long")
        return Generation(request.query_id, self.text(request), input_tokens=3, seconds=0.0)

    def text(self, request: GenerationRequest) -> str:
        text = f"{len(request.query)} {self.word}, {request.query_id}"
        return text if request.answer_schema is None else json.dumps({"answer": text})

    def generate_many(
        self, requests: Iterable[GenerationRequest], observer: Observer
    ) -> Iterator[Generation]:
        for request in reversed(list(requests)):
            answer = self.generate(request)
            assert isinstance(answer, Generation)
            yield answer


class Plain:
    """One method and no base class."""

    def generate(self, request: GenerationRequest) -> str:
        return request.query


def _altered(text: str | None = None, error: str | None = None) -> Any:
    return lambda _self, request: Generation(request.query_id, text or "", error=error)


def _shuffled(self: Sound, requests: Iterable[GenerationRequest], _observer: Observer) -> Any:
    drawn = list(requests)
    texts = [self.text(request) for request in drawn]
    for request, text in zip(drawn, texts[1:] + texts[:1], strict=True):
        yield Generation(request.query_id, text)


def _without_one(self: Sound, requests: Iterable[GenerationRequest], observer: Observer) -> Any:
    for number, answer in enumerate(Sound.generate_many(self, requests, observer)):
        if number != 1:
            yield answer


def _ended_by_one(self: Sound, requests: Iterable[GenerationRequest], observer: Observer) -> Any:
    for answer in Sound.generate_many(self, requests, observer):
        if answer.error is not None:
            raise ValueError(answer.error)
        yield answer


def _ending_the_run(self: Sound, request: GenerationRequest) -> Any:
    if not request.query:
        raise DataError("an empty question")
    return Sound.generate(self, request)


def _taking_tables(self: Sound, request: GenerationRequest) -> str:
    for table in request.tables:
        table.rows.clear()  # type: ignore[attr-defined]
    return Sound.text(self, request)


_ONE_BY_ONE = {"generate_many": Generator.generate_many}

FAULTS = broken(
    Sound,
    {
        "no method": ("basics", "no method generate", {"generate": None}),
        "needs a model": ("basics", "missing 1 required", {"__init__": lambda _self, _model: None}),
        "None": ("basics", "generate returned None", {"generate": lambda _self, _request: None}),
        "always fails": ("basics", "every request failed", {"generate": _altered(error="401")}),
        "text and error": ("basics", "both a text", {"generate": _altered("five", error="cut")}),
        "takes tables": ("basics", "changes the tables", {"text": _taking_tables}),
        "no JSON": ("basics", "follows_schema promises: 'five'", {"text": lambda *_: "five"}),
        "shuffles": ("many", "and generate '", {"generate_many": _shuffled}),
        "loses one": ("many", "no answer was given", {"generate_many": _without_one}),
        "strips ids": (
            "inputs",
            "pass on request.query_id",
            {"generate": lambda _s, r: Generation(r.query_id.strip(), "5"), **_ONE_BY_ONE},
        ),
        "one fault ends all": ("inputs", "ended the run", {"generate_many": _ended_by_one}),
        "ends the run": ("inputs", "an empty", {"generate": _ending_the_run, **_ONE_BY_ONE}),
    },
)


class Learns(Sound):
    """Its work changes a setting."""

    def text(self, request: GenerationRequest) -> str:
        self.word = request.query_id
        return json.dumps(len(request.query))


def test_a_sound_one_passes() -> None:
    assert not check_generator(lambda: Sound(word="letters")).skipped


def test_one_method_is_enough() -> None:
    report = check_generator(Plain)
    skipped = {outcome.check for outcome in report.skipped}
    assert skipped == {"many"}


LEARNS = (Learns, "basics", "its identity is changed by its work")


@pytest.mark.parametrize(("cls", "check", "words"), [*FAULTS, LEARNS])
def test_each_fault_is_named(cls: type, check: str, words: str) -> None:
    expect_fault(generator_checks, cls, check, words)


def test_no_more_requests_are_sent_than_is_said() -> None:
    sent: list[str] = []

    class Counts(Sound):
        def text(self, request: GenerationRequest) -> str:
            sent.append(request.query_id)
            return super().text(request)

    check_generator(Counts)
    assert GeneratorContract.most_sent * 0.7 < len(sent) <= GeneratorContract.most_sent


ELSEWHERE = {
    "openai": "tests/testing/test_generators.py",
    "langchain": "tests/models/remote/test_remote_generator.py",
    "llama-index": "tests/models/remote/test_remote_generator.py",
    "transformers": "tests/generators/test_transformers.py",
}


def test_none_is_left_out() -> None:
    assert {"extractive", "replay", *ELSEWHERE} == set(registry.BUILT_IN["generator"])
    for file in ELSEWHERE.values():
        assert "check_generator(" in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("spec", ["extractive", "replay:file={file}"])
def test_built_ins_keep_the_contract(spec: str, tmp_path: Path) -> None:
    lines = [json.dumps({"query_id": r.query_id, "text": "five"}) for r in samples.requests()]
    file = tmp_path / "answers.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    report = check_generator(spec.format(file=file))
    assert {outcome.check for outcome in report.skipped} == {"many"}


def test_openai_keeps_the_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    from tests.openai_server import OpenAIServer

    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with OpenAIServer() as server:
        report = check_generator(f"openai:model=m,base_url={server.base_url}")
        assert server.requests
    assert not report.skipped
