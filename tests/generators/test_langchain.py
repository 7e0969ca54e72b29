"""LangChain: models and chains, what identifies them, secrets that stay so.

What a server answers is in ``tests/models/remote/test_remote_generator.py``.
"""

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.core.identity import plugin_identity
from target_bench.core.schema import Generation, GenerationRequest, Message

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
    """Repeats the question, and remembers what it was sent."""

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

    def reply(self, question: str) -> Any:
        return f"answer to {question}"


class Blocks(Fake):
    """Answers in blocks of content."""

    def reply(self, question: str) -> Any:
        return [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}, {"type": "odd"}]


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


def _answer(model: object, *roles: str) -> Generation:
    messages = [Message(role, role[0]) for role in roles or ("user",)]
    answer = LangChain(model).generate(GenerationRequest("q", "qa", tuple(messages), "u"))
    assert isinstance(answer, Generation)
    return answer


def _chat(**settings: Any) -> ChatOpenAI:
    settings = {"api_key": KEY, "base_url": "http://localhost:1/v1", **settings}
    return ChatOpenAI(model="m", **settings)


def test_messages_become_those_of_langchain() -> None:
    Fake.seen.clear()
    answer = _answer(Fake(), "system", "user", "assistant")
    assert answer == Generation("q", "answer to a", seconds=answer.seconds)
    roles = [("system", "s"), ("human", "u"), ("ai", "a")]
    assert [(m.type, m.content) for m in Fake.seen[0]] == roles


@pytest.mark.parametrize(
    ("model", "text", "error"),
    [
        (Fake() | StrOutputParser(), "answer to u", None),
        (RunnableLambda(lambda messages: f"{len(messages)} message"), "1 message", None),
        (Blocks(), "one two", None),
        (RunnableLambda(lambda _: "half a \ud83d"), "half a ?", None),
        (
            RunnableLambda(lambda _: {"answer": 1}),
            "",
            "raised: TypeError: it gave a dict, neither a message nor text",
        ),
    ],
)
def test_chains_and_blocks(model: Any, text: str, error: str | None) -> None:
    answer = _answer(model)
    assert (answer.text, answer.error) == (text, error)


def test_the_identity_is_class_and_settings_without_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_OTHER_API_KEY", "plain words of a key")
    odd_places = {
        "base_url": "http://me:pass@localhost:1/v1",
        "api_key": SecretStr("12345678"),
        "default_headers": {
            "Authorization": "Bearer abcdefgh",
            "X-Odd": f"id {KEY}",
            "Y": "12345678",
            "X-Api-Key": "hidden",
        },
        "extra_body": {"note": "plain words of a key"},
    }
    generator = LangChain(_chat(temperature=0.5, **odd_places))
    model = generator.config()["model"]
    assert model["class"] == "langchain_openai.chat_models.base:ChatOpenAI"
    assert "langchain-openai" in generator.packages
    assert (model["settings"]["model_name"], model["settings"]["temperature"]) == ("m", 0.5)
    shown = json.dumps(model) + repr(generator)
    for secret in (KEY, "abcdefgh", "api_key", "12345678", "pass@", "hidden", "plain words"):
        assert secret not in shown
    assert "***@localhost" in shown

    identity = plugin_identity(LangChain(_chat(temperature=0.5)))
    other_key = _chat(temperature=0.5, api_key="sk-another-9876543210", timeout=9.0)
    assert plugin_identity(LangChain(other_key, concurrency=1)) == identity
    assert plugin_identity(LangChain(_chat(temperature=0.6))) != identity


def test_what_cannot_be_described_is_identified_by_its_source_or_never_reused() -> None:
    identity, warning = plugin_identity(LangChain(chain_of_lambdas()))
    assert "unique" in identity
    assert "name a function that makes it" in str(warning)
    identity, warning = plugin_identity(LangChain(f"{__name__}:chain_of_lambdas"))
    assert warning is None
    assert len(identity["config"]["source"]) == 64
    assert _answer(f"{__name__}:chain_of_lambdas").text == "ANSWER TO U"


def test_from_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(f"from {__name__} import Fake\nchat = Fake(model_name='in a file')\n")
    names = {"make": "made", "MODEL": "an object", "Fake": "fake-1"}
    places = {f"{__name__}:{name}": model for name, model in names.items()}
    for place, model in {**places, f"{file}:chat": "in a file"}.items():
        generator = registry.create("generator", f"langchain:model={place},concurrency=2")
        assert isinstance(generator, LangChain)
        assert (generator.paid, generator.concurrency) == (True, 2)
        assert generator.config()["model"]["settings"]["model_name"] == model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("langchain_core", "expected module:name"),
        ("no_such_module:make", "no module 'no_such_module'"),
        (f"{__name__}:nothing", "no 'nothing' in"),
        (f"{__name__}:KEY", "is not a Runnable"),
        (f"{__name__}:broken", "temperature: Input should be a valid number"),
        ("builtins:dict", "a dict is not a Runnable"),
    ],
)
def test_a_model_that_is_none(model: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        registry.create("generator", f"langchain:model={model}")
    assert KEY not in str(caught.value)
