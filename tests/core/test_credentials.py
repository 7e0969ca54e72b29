"""Detection and masking of credentials."""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from pydantic import BaseModel, SecretStr

from target_bench.core.credentials import (
    is_secret,
    looks_secret,
    mask_answer,
    mask_settings,
    may_be_a_word,
    note_secrets,
    without_secrets,
)
from target_bench.core.errors import ConfigError
from target_bench.core.identity import plugin_identity
from target_bench.core.model_objects import ModelDescription
from target_bench.core.registry import create

SECRET_NAMES = (
    "api_key OPENAI_API_KEY password hf_token client-secret apiKey default_api_keys my-db_password "
    "passphrase headers default_headers my-headers default_apiKey"
)
OTHER_NAMES = (
    "api_key_env max_tokens eos_token model monkeys tokens prompt_tokens join_key primary_key "
    "key_column password_file n_token num_key tokenizer keywords"
)
"""A setting that is masked is no part of an identity, so what changes results must not be."""


@pytest.mark.parametrize("name", f"{SECRET_NAMES} {OTHER_NAMES}".split())
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name) == (name in SECRET_NAMES.split())


@pytest.mark.parametrize(
    "text", ["sk-abcdefghijklmnop", "gsk_" + 24 * "a", "hf_" + 24 * "b", "http://me:pass@host/v1"]
)
def test_texts_that_look_like_a_secret(text: str) -> None:
    assert looks_secret(text)
    assert "***" in without_secrets(f"it said {text} to me")


KEYS = ("token-abc123", "sk-12345", "a-key-of-letters-alone")
PLACEHOLDERS = ("EMPTY", "k1", "lm-studio", "not-needed", "secret-of-mine")


@pytest.mark.parametrize("key", [*KEYS, *PLACEHOLDERS])
def test_keys_that_no_answer_holds_by_chance(key: str) -> None:
    assert may_be_a_word(key) == (key in PLACEHOLDERS)


class Wrapping:
    def __init__(self, settings: object = None, key: str = "title", api_key: str = "x") -> None:
        self.settings, self.key, self.api_key = settings, key, api_key


def _config(plugin: object) -> dict[str, Any]:
    identity, warning = plugin_identity(plugin)
    assert warning is None
    config: dict[str, Any] = identity["config"]
    return config


@pytest.mark.parametrize(
    ("settings", "masked"),
    [
        ([{"api_key": "sk-own-secret-999", "n": 2}, "x"], [{"api_key": "***", "n": 2}, "x"]),
        ("https://me:password-4711@host/v1?token=t0k-1&n=2", "https://***@host/v1?token=***&n=2"),
    ],
)
def test_no_key_in_the_identity_of_a_plugin(settings: object, masked: object) -> None:
    plugin = Wrapping(settings, api_key="sk-own-secret-999")
    assert _config(plugin) == {"settings": masked, "key": "title", "api_key": "***"}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("api_key_env=sk-proj-SECRETSECRET12345", "never the key itself"),
        ("api_key_env=gsk_SECRETSECRET1234567890ab", "never the key itself"),
        ("base_url=http://me:SECRET123@host/v1", "no user, password"),
    ],
)
def test_a_key_in_a_wrong_place_is_refused_and_not_shown(setting: str, message: str) -> None:
    pytest.importorskip("openai")
    with pytest.raises(ConfigError, match=message) as caught:
        create("generator", f"openai:model=m,{setting}")
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "m.py:M:api_key=abc123,model=m,base_url=http://me:word@host/v1",
            "m.py:M:api_key=***,model=m,base_url=http://***@host/v1",
        ),
        ("bm25:fields=[title,header],k1=0.9", "bm25:fields=[title,header],k1=0.9"),
        ("mine.py:Mine:key=title", "mine.py:Mine:key=title"),
        ("m.py:M:headers={A: k1v2w3x4, B: y},k=1", "m.py:M:headers=***,k=1"),
        ("m.py:M:headers={Authorization: x, B: y}", "m.py:M:headers=***"),
        ("m.py:M:headers=3,auth=true", "m.py:M:headers=3,auth=true"),
        ("m.py:M:client={api_key: abc, size: 2}", "m.py:M:client={api_key: ***, size: 2}"),
        ("m.py:M:inner='x:api_key=abc,model=m',k=1", "m.py:M:inner='x:api_key=***,model=m',k=1"),
        ("m.py:M:dsn='host=a password=abc port=1'", "m.py:M:dsn='host=a password=*** port=1'"),
        ("m.py:M:password='a,b}c',k=1", "m.py:M:password=***,k=1"),
        ("m.py:M:url=http://u:p@h/?token=abc&n=2", "m.py:M:url=http://***@h/?token=***&n=2"),
        ("my.token:Class:k1=2", "my.token:Class:k1=2"),
    ],
)
def test_a_value_is_masked_to_its_end(text: str, shown: str) -> None:
    assert mask_settings(text) == shown
    assert mask_settings(shown) == shown


def test_credentials_among_settings_are_masked_in_every_text() -> None:
    settings = {
        "url": "https://someone:S3cret%20pw@host.example/v1?api_key=query-key-1",
        "headers": {"X-Own": "own-header-2", "Content-Type": "application/json"},
        "parts": [{"password": "pw#3"}, {"api_key": "EMPTY"}],
    }
    note_secrets(settings)
    text = "no S3cret pw, S3cret%20pw, query-key-1, own-header-2 or pw#3 at host.example"
    assert without_secrets(text) == "no ***, ***, ***, *** or *** at host.example"
    kept = "EMPTY application/json by someone, and xpw#3x"
    assert without_secrets(kept) == kept


def test_the_folder_of_a_shell_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PWD", "/home/someone/project")
    monkeypatch.setenv("DB_PWD", "some-password-5")
    masked = without_secrets("/home/someone/project/runs: some-password-5")
    assert masked == "/home/someone/project/runs: ***"


@pytest.mark.parametrize("value", ["2023-06-01", "12345678", "3.14159265"])
def test_a_date_or_a_number_may_stand_in_an_answer(value: str) -> None:
    note_secrets({"headers": {"Anthropic-Version": value}})
    note_secrets({"password": value})
    assert mask_answer(f"It was {value}.") == f"It was {value}."


def test_an_answer_does_not_repeat_a_key_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "a-key-for-nobody-7")
    assert mask_answer("x a-key-for-nobody-7") == "x ***"


@pytest.mark.parametrize(
    "plugins",
    [
        (Wrapping(key="title"), Wrapping(key="description")),
        (Wrapping({"headers": {"X-Index": "a"}}), Wrapping({"headers": {"X-Index": "b"}})),
        (Wrapping({"key": ["a", "b"]}), Wrapping({"key": ["c", "b"]})),
    ],
)
def test_two_words_called_key_are_two_plugins(plugins: tuple[object, object]) -> None:
    first, second = map(_config, plugins)
    assert first != second


@pytest.mark.parametrize("name", ["password", "api_key"])
def test_another_credential_is_the_same_plugin(name: str) -> None:
    first, *others = (_config(Wrapping({name: key})) for key in ("one", "two", "sk-Ab34567890"))
    assert others == [first, first]
    assert _config(Wrapping(key="sk-Ab34567890"))["key"] == "***"


def test_a_word_that_is_a_credential_elsewhere_changes_no_identity() -> None:
    identity = plugin_identity(Wrapping(["correcthorse"]))
    note_secrets({"password": "correcthorse", "key": "correcthorse"})
    assert plugin_identity(Wrapping(["correcthorse"])) == identity
    assert mask_settings("a:fields=[correcthorse]") == "a:fields=[correcthorse]"
    assert without_secrets("refused: correcthorse") == "refused: ***"


@pytest.mark.parametrize("wrote", [str, repr, json.dumps, quote, quote_plus])
def test_a_credential_is_found_as_errors_write_it(wrote: Callable[[str], str]) -> None:
    secret = 'p@ss"wo\\rd:1 %é'
    note_secrets({"password": secret, "token": "tok9"})
    masked = without_secrets(f"refused {wrote(secret)} of tok9")
    assert re.fullmatch("refused ['\"]?\\*\\*\\*['\"]? of \\*\\*\\*", masked)


@pytest.mark.parametrize(
    "line",
    [
        'client = Client("db", api_key="k1v2w3")',
        "password = 'k1v2w3'",
        'settings["password"] = "k1v2w3"',
        '{"error": "refused", "access_token": "k1v2w3"}',
        "connect(user='me', db_password='k1v2w3')",
        "sent {'Authorization': 'Basic k1v2w3='}; Basic Education",
        "password = read_password(file)",
        "api_key: str = None",
        'keywords = "title"',
        "max_tokens='12'",
        'raise KeyError("no password"), "file"',
    ],
)
def test_a_credential_in_a_line_of_code_or_json_is_masked(line: str) -> None:
    masked = line.replace("k1v2w3=", "***").replace("k1v2w3", "***")
    assert without_secrets(line) == masked


class Model(BaseModel):
    """A model of LangChain's kind, which asks others with a prompt of its own."""

    prompt: str = ""
    api_key: SecretStr = SecretStr("")
    default_headers: dict[str, Any] = {}


def test_credentials_in_a_model_object() -> None:
    """Its key and headers are masked; words, which tell other models apart, are not."""
    key, token = "Wq81hJx92Lm0PqAA", "Yq81hJx92Lm0PqBB"
    headers = {"Authorization": SecretStr(f"Bearer {token}"), "X-Title": "benchmark"}
    model = Model(prompt=f"with {key}", api_key=SecretStr(key), default_headers=headers)
    assert ModelDescription(model).settings["settings"] == {"prompt": "with ***"}
    ModelDescription(Model(api_key=SecretStr("not-needed")))
    assert without_secrets(f"{key} {token}") == "*** ***"
    described = ModelDescription(Model(prompt="a benchmark, not-needed"))
    assert described.settings["settings"]["prompt"] == "a benchmark, not-needed"
