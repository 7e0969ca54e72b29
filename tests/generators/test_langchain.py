"""LangChain: a real client over HTTP, chains, what identifies a model, secrets that stay so."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

import pytest

from target_bench.core import registry
from target_bench.core.errors import ConfigError, MissingExtraError, StoreError
from target_bench.core.identity import plugin_identity
from target_bench.core.observer import Observer
from target_bench.core.schema import Generation, GenerationRequest, Message
from target_bench.models.remote.answer_cache import AnswerCache
from tests.openai_server import OpenAIServer

pytest.importorskip("langchain_core")
pytest.importorskip("langchain_openai")

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from target_bench.generators.langchain import LangChain

pytestmark = pytest.mark.usefixtures("clients_of_others")

KEY = "sk-verysecret-0123456789"


class Fake(BaseChatModel):
    """Answers with what it was asked, and remembers how."""

    model_name: str = "fake-1"
    temperature: float = 0.0
    api_key: SecretStr | None = None
    seen: ClassVar[list[list[BaseMessage]]] = []

    @property
    def _llm_type(self) -> str:
        return "fake"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.seen.append(messages)
        reply = AIMessage(content=self.reply(str(messages[-1].content)))
        return ChatResult(generations=[ChatGeneration(message=reply)])

    def reply(self, asked: str) -> Any:
        return f"answer to {asked}"


class Blocks(Fake):
    """Answers in blocks of content."""

    def reply(self, asked: str) -> Any:
        return [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}, {"type": "odd"}]


class Slow(Fake):
    """Counts how many requests are under way; the 42nd fails."""

    most: ClassVar[int] = 0
    now: ClassVar[int] = 0
    lock: ClassVar[Lock] = Lock()

    def reply(self, asked: str) -> Any:
        with self.lock:
            Slow.now += 1
            Slow.most = max(Slow.most, Slow.now)
        time.sleep(0.01)
        with self.lock:
            Slow.now -= 1
        if asked == "q41":
            raise RuntimeError("the model is gone")
        return f"answer to {asked}"


def make() -> Fake:
    """What the command line names."""
    return Fake(model_name="made")


def broken() -> Fake:
    """Fails with a key among its settings."""
    return Fake(api_key=KEY, temperature="warm")  # type: ignore[arg-type]


def chain_of_lambdas() -> Any:
    """A chain that no object tells about."""
    return Fake() | (lambda message: message.content.upper())


MODEL = Fake(model_name="an object")


def _requests(n: int) -> Iterator[GenerationRequest]:
    for i in range(n):
        messages = Message("system", "be brief"), Message("user", f"q{i}")
        yield GenerationRequest(f"q{i}", "qa", messages, f"q{i}")


def _one(generator: LangChain, content: str = "q0") -> Generation:
    found = generator.generate(GenerationRequest("q", "qa", (Message("user", content),), content))
    assert isinstance(found, Generation)
    return found


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(key=KEY) as server:
        yield server


def _chat(server: OpenAIServer, **settings: Any) -> ChatOpenAI:
    settings = dict[str, Any](api_key=KEY, max_retries=0, timeout=5.0) | settings
    return ChatOpenAI(model="m", base_url=server.base_url, **settings)


def test_messages_become_those_of_langchain() -> None:
    Fake.seen.clear()
    messages = Message("system", "s"), Message("user", "u"), Message("assistant", "a")
    found = LangChain(Fake()).generate(GenerationRequest("q", "qa", messages, "u"))
    assert found == Generation("q", "answer to a", seconds=found.seconds)
    assert [(m.type, m.content) for m in Fake.seen[0]] == [
        ("system", "s"),
        ("human", "u"),
        ("ai", "a"),
    ]


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (Fake() | StrOutputParser(), "answer to q0"),
        (RunnableLambda(lambda messages: f"{len(messages)} message"), "1 message"),
        (Blocks(), "one two"),
        (RunnableLambda(lambda _: "half a \ud83d"), "half a ?"),
    ],
)
def test_chains_and_blocks(model: Any, text: str) -> None:
    assert _one(LangChain(model)).text == text


def test_a_chain_that_gives_something_else_fails() -> None:
    found = _one(LangChain(RunnableLambda(lambda _: {"answer": 1})))
    assert found.error == "raised: TypeError: it gave a dict, neither a message nor text"


def test_an_answer_that_cannot_be_recorded_ends_it_and_nothing_more_is_sent(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(AnswerCache, "put", full)
    answers = LangChain(_chat(server), concurrency=2).generate_many(_requests(100), Observer())
    with pytest.raises(StoreError, match="the disk is full"):
        list(answers)
    assert len(server.requests) <= 2


def test_the_identity_is_class_and_settings_without_secrets(server: OpenAIServer) -> None:
    model = _chat(server, temperature=0.5, default_headers={"Authorization": "Bearer abcdefgh"})
    config = LangChain(model).config()
    text = json.dumps(config)
    assert config["model"]["class"] == "langchain_openai.chat_models.base:ChatOpenAI"
    assert "langchain-openai" in LangChain(model).packages
    settings = config["model"]["settings"]
    assert (settings["model_name"], settings["temperature"]) == ("m", 0.5)
    assert settings["openai_api_base"] == server.base_url
    assert KEY not in text
    assert "abcdefgh" not in text
    assert "api_key" not in text
    again, other_key = LangChain(_chat(server, temperature=0.5)), "sk-another-9876543210"
    assert plugin_identity(again) == plugin_identity(
        LangChain(_chat(server, temperature=0.5, api_key=other_key, timeout=9.0), concurrency=1)
    )
    assert plugin_identity(again) != plugin_identity(LangChain(_chat(server, temperature=0.6)))
    assert KEY not in repr(again)


def test_a_key_in_an_odd_place_is_found_too(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_OTHER_API_KEY", "plain words of a key")
    model = ChatOpenAI(
        model="m",
        base_url="http://me:pass@localhost:1/v1",
        api_key=SecretStr("12345678"),
        default_headers={"X-Odd": f"id {KEY}", "Y": "12345678", "X-Api-Key": "hidden"},
        extra_body={"note": "plain words of a key"},
    )
    text = json.dumps(LangChain(model).config())
    for secret in (KEY, "12345678", "pass@", "hidden", "plain words"):
        assert secret not in text
    assert "***@localhost" in text


def test_what_cannot_be_described_is_identified_by_its_source_or_never_reused() -> None:
    identity, warning = plugin_identity(LangChain(chain_of_lambdas()))
    assert "unique" in identity
    assert warning is not None
    assert "name a function that makes it" in warning
    by_name = LangChain(f"{__name__}:chain_of_lambdas")
    identity, warning = plugin_identity(by_name)
    assert warning is None
    assert len(identity["config"]["source"]) == 64
    assert _one(by_name).text == "ANSWER TO Q0"


def test_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(model: str) -> Any:
        found = registry.create("generator", f"langchain:model={model},concurrency=2")
        assert isinstance(found, LangChain)
        assert found.paid
        assert found.concurrency == 2
        return found.config()["model"]["settings"]["model_name"]

    assert made(f"{__name__}:make") == "made"
    assert made(f"{__name__}:MODEL") == "an object"
    assert made(f"{__name__}:Fake") == "fake-1"
    file = tmp_path / "mine.py"
    file.write_text(f"from {__name__} import Fake\nchat = Fake(model_name='in a file')\n")
    assert made(f"{file}:chat") == "in a file"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("langchain_core", "expected module:name"),
        ("no_such_module:make", "no module 'no_such_module'"),
        (f"{__name__}:nothing", "no 'nothing' in"),
        (f"{__name__}:KEY", "no Runnable object"),
        (f"{__name__}:broken", "temperature: Input should be a valid number"),
        ("builtins:dict", "a dict is no Runnable object"),
    ],
)
def test_a_model_that_is_none(model: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        registry.create("generator", f"langchain:model={model}")
    assert KEY not in str(caught.value)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"langchain-core.*target-bench\[langchain\]"):
        LangChain(Fake())
