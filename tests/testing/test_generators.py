"""The checks of a generator pass what keeps the contract, and name what does not."""

import json
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from target_bench.core import registry
from target_bench.core.contract import Generator
from target_bench.core.errors import DataError
from target_bench.core.observer import Observer
from target_bench.core.schema import Generation, GenerationRequest
from target_bench.testing import (
    MOST_REQUESTS,
    Report,
    check_generator,
    generator_checks,
    run,
)
from target_bench.testing import generators as requests
from tests.builders import ROOT

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
        said = f"{len(request.query)} {self.word}, {request.query_id}"
        return said if request.answer_schema is None else json.dumps({"answer": said})

    def generate_many(
        self, requests: Iterable[GenerationRequest], observer: Observer
    ) -> Iterator[Generation]:
        for request in reversed(list(requests)):
            found = self.generate(request)
            assert isinstance(found, Generation)
            yield found


class Plain:
    """One method and no base class."""

    def generate(self, request: GenerationRequest) -> str:
        return request.query


class NoMethod:
    """basics."""


class NeedsAModel(Sound):
    """basics."""

    def __init__(self, model: str) -> None:
        self.model = model


class ReturnsNone(Sound):
    """basics."""

    def generate(self, request: GenerationRequest) -> Generation | str:
        return None  # type: ignore[return-value]


class AlwaysFails(Sound):
    """basics."""

    def generate(self, request: GenerationRequest) -> Generation | str:
        return Generation(request.query_id, "", error="status 401: wrong key")


class TextAndError(Sound):
    """basics."""

    def generate(self, request: GenerationRequest) -> Generation | str:
        return Generation(request.query_id, "five", error="cut")


class StripsIds(Sound):
    """errors."""

    def generate(self, request: GenerationRequest) -> Generation | str:
        return Generation(request.query_id.strip(), json.dumps(len(request.query)))

    generate_many = Generator.generate_many


class Shuffles(Sound):
    """many."""

    def generate_many(
        self, requests: Iterable[GenerationRequest], observer: Observer
    ) -> Iterator[Generation]:
        drawn = list(requests)
        found = [self.text(request) for request in drawn]
        for request, text in zip(drawn, found[1:] + found[:1], strict=True):
            yield Generation(request.query_id, text)


class LosesOne(Sound):
    """many."""

    def generate_many(
        self, requests: Iterable[GenerationRequest], observer: Observer
    ) -> Iterator[Generation]:
        for number, found in enumerate(super().generate_many(requests, observer)):
            if number != 1:
                yield found


class OneFaultEndsAll(Sound):
    """errors."""

    def generate_many(
        self, requests: Iterable[GenerationRequest], observer: Observer
    ) -> Iterator[Generation]:
        for found in super().generate_many(requests, observer):
            if found.error is not None:
                raise ValueError(found.error)
            yield found


class EndsTheRun(Sound):
    """errors."""

    def generate(self, request: GenerationRequest) -> Generation | str:
        if not request.query:
            raise DataError("an empty question")
        return super().generate(request)

    def generate_many(
        self, requests: Iterable[GenerationRequest], observer: Observer
    ) -> Iterator[Generation]:
        return super().generate_many([r for r in requests if r.query], observer)


class NoJSON(Sound):
    """schema."""

    def text(self, request: GenerationRequest) -> str:
        return "five"


class TakesTables(Sound):
    """inputs."""

    def text(self, request: GenerationRequest) -> str:
        for table in request.tables:
            if isinstance(table.rows, list):
                table.rows.clear()
        return super().text(request)


class Learns(Sound):
    """identity."""

    def text(self, request: GenerationRequest) -> str:
        self.word = request.query_id
        return json.dumps(len(request.query))


BROKEN: list[type] = [
    cls
    for cls in list(vars().values())
    if isinstance(cls, type) and cls.__module__ == __name__ and cls not in (Sound, Plain)
]


def _report(generator: Any, **options: Any) -> Report:
    return run("it", generator_checks(generator, **options))


def test_a_sound_one_passes() -> None:
    assert not check_generator(lambda: Sound(word="letters")).skipped


def test_one_method_is_enough() -> None:
    report = check_generator(Plain)
    skipped = {outcome.check for outcome in report.skipped}
    assert skipped == {"many", "schema"}


@pytest.mark.parametrize("cls", BROKEN, ids=lambda cls: cls.__name__)
def test_each_fault_is_named(cls: type) -> None:
    """The docstring is the check that fails."""
    report = _report(cls)
    assert report.failed[0].check == (cls.__doc__ or "").removesuffix("."), str(report)
    assert all(len(outcome.detail) > 25 for outcome in report.failed)


def test_answers_that_differ_are_said() -> None:
    class Dice(Sound):
        def text(self, request: GenerationRequest) -> str:
            return json.dumps({"answer": random.random()})

    report = check_generator(Dice)
    assert [outcome.check for outcome in report.skipped] == ["determinism"]
    assert "cannot be repeated" in report.skipped[0].detail


def test_no_more_requests_are_sent_than_is_said() -> None:
    sent: list[str] = []

    class Counts(Sound):
        def text(self, request: GenerationRequest) -> str:
            sent.append(request.query_id)
            return super().text(request)

    check_generator(Counts)
    assert MOST_REQUESTS * 0.7 < len(sent) <= MOST_REQUESTS


def _extractive(_folder: Path) -> tuple[str, set[str]]:
    return "extractive", {"many", "schema"}


def _template(_folder: Path) -> tuple[str, set[str]]:
    return "template", {"many", "schema"}


def _replay(folder: Path) -> tuple[str, set[str]]:
    asked = requests.ordinary()
    lines = [json.dumps({"query_id": r.query_id, "text": "five"}) for r in asked]
    (folder / "answers.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return f"replay:file={folder / 'answers.jsonl'}", {"many", "schema"}


BUILT_INS: dict[str, Callable[[Path], tuple[str, set[str]]]] = {
    "extractive": _extractive,
    "template": _template,
    "replay": _replay,
}
ELSEWHERE = {
    "openai": "tests/testing/test_generators.py",
    "langchain": "tests/models/remote/test_remote_generator.py",
    "llama-index": "tests/models/remote/test_remote_generator.py",
    "transformers": "tests/generators/test_transformers.py",
}


def test_none_is_left_out() -> None:
    assert {*BUILT_INS, *ELSEWHERE} == set(registry.BUILT_IN["generator"])
    for file in ELSEWHERE.values():
        assert "check_generator(" in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", BUILT_INS)
def test_built_ins_keep_the_contract(name: str, tmp_path: Path) -> None:
    spec, skipped = BUILT_INS[name](tmp_path)
    assert {outcome.check for outcome in check_generator(spec).skipped} == skipped


def test_openai_keeps_the_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    from tests.openai_server import OpenAIServer

    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with OpenAIServer() as server:
        report = check_generator(f"openai:model=m,base_url={server.base_url}")
        assert server.requests
    assert not report.skipped
