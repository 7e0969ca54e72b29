"""Detection and masking of credentials."""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from pydantic import BaseModel, SecretStr

from target_bench.core.credentials import (
    answer_without_secrets,
    is_secret,
    looks_secret,
    masked_settings,
    may_be_a_word,
    note_secrets,
    without_secrets,
)
from target_bench.core.errors import ConfigError
from target_bench.core.identity import plugin_identity
from target_bench.core.model_objects import Description
from target_bench.core.registry import create


@pytest.mark.parametrize(
    "name", ["api_key", "OPENAI_API_KEY", "password", "hf_token", "client-secret"]
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ["api_key_env", "max_tokens", "eos_token", "model", "monkeys"])
def test_other_names(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize(
    "text", ["sk-abcdefghijklmnop", "gsk_" + 24 * "a", "hf_" + 24 * "b", "http://me:pass@host/v1"]
)
def test_texts_that_look_like_a_secret(text: str) -> None:
    assert looks_secret(text)
    assert "***" in without_secrets(f"it said {text} to me")


@pytest.mark.parametrize("key", ["EMPTY", "k1", "lm-studio", "not-needed", "secret-of-mine"])
def test_placeholders(key: str) -> None:
    assert may_be_a_word(key)


@pytest.mark.parametrize("key", ["token-abc123", "sk-12345", "a-key-of-letters-alone"])
def test_keys_that_no_answer_holds_by_chance(key: str) -> None:
    assert not may_be_a_word(key)


def test_settings_are_masked() -> None:
    text = "mine.py:Mine:api_key=abc123,model=m,base_url=http://me:word@host/v1"
    assert masked_settings(text) == "mine.py:Mine:api_key=***,model=m,base_url=http://***@host/v1"
    assert (
        masked_settings("bm25:fields=[title,header],k1=0.9") == "bm25:fields=[title,header],k1=0.9"
    )


class Keyed:
    def __init__(self, api_key: str = "x", size: int = 1) -> None:
        self.api_key = api_key
        self.size = size


def test_no_key_in_the_identity_of_a_plugin() -> None:
    identity, warning = plugin_identity(Keyed("sk-own-secret-999", 2))
    assert warning is None
    assert identity["config"] == {"api_key": "***", "size": 2}


class Wrapping:
    def __init__(self, settings: object) -> None:
        self.settings = settings


def test_no_key_further_down_either() -> None:
    identity, _ = plugin_identity(Wrapping([{"api_key": "sk-own-secret-999", "n": 2}, "x"]))
    assert identity["config"] == {"settings": [{"api_key": "***", "n": 2}, "x"]}


@pytest.mark.parametrize(
    "setting",
    ["api_key_env=sk-proj-SECRETSECRET12345", "api_key_env=gsk_SECRETSECRET1234567890ab"],
)
def test_a_key_in_place_of_its_variable_is_refused_and_not_shown(setting: str) -> None:
    pytest.importorskip("openai")
    with pytest.raises(ConfigError, match="never the key itself") as caught:
        create("generator", f"openai:model=m,{setting}")
    assert "SECRET" not in str(caught.value)


def test_a_password_in_an_address_is_not_shown() -> None:
    pytest.importorskip("openai")
    with pytest.raises(ConfigError, match="no user, password") as caught:
        create("generator", "openai:model=m,base_url=http://me:PASSWORD123@host/v1")
    assert "PASSWORD123" not in str(caught.value)


@pytest.mark.parametrize("name", ["apiKey", "api_keys", "db_password", "passphrase", "headers"])
@pytest.mark.parametrize("form", ["{}", "default_{}", "my-{}"])
def test_more_names_of_secrets(name: str, form: str) -> None:
    assert is_secret(form.format(name))


@pytest.mark.parametrize(
    "name", ["tokens", "prompt_tokens", "join_key", "primary_key", "key_column", "password_file"]
)
def test_names_that_only_sound_so(name: str) -> None:
    """A setting that is masked is no part of an identity, so what changes results must not be."""
    assert not is_secret(name)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
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
    assert masked_settings(text) == shown
    assert masked_settings(shown) == shown


def test_credentials_among_settings_are_masked_in_every_text() -> None:
    settings = {
        "url": "https://someone:S3cret%20pw@host.example/v1?api_key=query-key-1",
        "headers": {"X-Own": "own-header-2", "Content-Type": "application/json"},
        "parts": [{"password": "pw#3"}, {"api_key": "EMPTY"}],
    }
    note_secrets(settings)
    said = "no S3cret pw, S3cret%20pw, query-key-1, own-header-2 or pw#3 at host.example"
    assert without_secrets(said) == "no ***, ***, ***, *** or *** at host.example"
    kept = "EMPTY application/json by someone, and xpw#3x"
    assert without_secrets(kept) == kept


def test_an_address_in_the_identity_is_without_credentials() -> None:
    identity, _ = plugin_identity(Wrapping("https://me:password-4711@host/v1?token=t0ken-1&n=2"))
    assert identity["config"] == {"settings": "https://***@host/v1?token=***&n=2"}


@pytest.mark.parametrize(
    "text",
    [
        "random:seed=x,api_key=own-9-secret",
        "random:api_key=own-9-secret}",
        "random:api_key=[own-9-secret",
    ],
)
def test_a_setting_that_is_wrong_is_told_without_credentials(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        create("retriever", text)
    assert "own-9-secret" not in str(caught.value)


def test_the_folder_of_a_shell_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PWD", "/home/someone/project")
    monkeypatch.setenv("DB_PWD", "some-password-5")
    said = without_secrets("/home/someone/project/runs: some-password-5")
    assert said == "/home/someone/project/runs: ***"


@pytest.mark.parametrize("name", ["n_token", "num_key", "key_column", "tokenizer", "keywords"])
def test_names_of_numbers_and_of_words(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize("value", ["2023-06-01", "12345678", "3.14159265"])
def test_a_date_or_a_number_may_stand_in_an_answer(value: str) -> None:
    note_secrets({"headers": {"Anthropic-Version": value}})
    note_secrets({"password": value})
    assert answer_without_secrets(f"It was {value}.") == f"It was {value}."


def test_an_answer_does_not_repeat_a_key_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "a-key-for-nobody-7")
    assert answer_without_secrets("x a-key-for-nobody-7") == "x ***"


class KeyOfTable:
    def __init__(self, key: str = "title", fields: object = ()) -> None:
        self.key = key
        self.fields = fields


def test_two_words_called_key_are_two_plugins() -> None:
    identities = [plugin_identity(KeyOfTable(key))[0] for key in ("title", "description")]
    assert [i["config"]["key"] for i in identities] == ["title", "description"]
    assert masked_settings("mine.py:Mine:key=title") == "mine.py:Mine:key=title"
    headers = [plugin_identity(KeyOfTable("x", {"headers": {"X-Index": i}}))[0] for i in "ab"]
    assert headers[0] != headers[1]
    keys = (["a", "b"], ["c", "b"])
    listed = [plugin_identity(KeyOfTable("x", {"key": two}))[0] for two in keys]
    assert listed[0] != listed[1]


@pytest.mark.parametrize("name", ["password", "api_key"])
def test_another_credential_is_the_same_plugin(name: str) -> None:
    one, two, three = (
        plugin_identity(KeyOfTable("x", {name: secret}))[0]
        for secret in ("one", "two", "sk-Ab34567890")
    )
    assert one == two == three
    assert plugin_identity(KeyOfTable("sk-Ab34567890"))[0]["config"]["key"] == "***"


def test_a_word_that_is_a_credential_elsewhere_changes_no_identity() -> None:
    identity = plugin_identity(KeyOfTable("x", ["correcthorse"]))
    note_secrets({"password": "correcthorse", "key": "correcthorse"})
    assert plugin_identity(KeyOfTable("x", ["correcthorse"])) == identity
    assert masked_settings("a:fields=[correcthorse]") == "a:fields=[correcthorse]"
    assert without_secrets("refused: correcthorse") == "refused: ***"


@pytest.mark.parametrize("wrote", [str, repr, json.dumps, quote, quote_plus])
def test_a_credential_is_found_as_errors_write_it(wrote: Callable[[str], str]) -> None:
    secret = 'p@ss"wo\\rd:1 %é'
    note_secrets({"password": secret, "token": "tok9"})
    said = without_secrets(f"refused {wrote(secret)} of tok9")
    assert re.fullmatch("refused ['\"]?\\*\\*\\*['\"]? of \\*\\*\\*", said)


def test_a_login_in_base64_is_masked() -> None:
    said = "sent {'Authorization': 'Basic dTpwQHNzOndvcmQ='}; Basic Education"
    assert without_secrets(said) == "sent {'Authorization': 'Basic ***'}; Basic Education"


@pytest.mark.parametrize(
    "line",
    [
        'client = Client("db", api_key="k1v2w3")',
        "password = 'k1v2w3'",
        'settings["password"] = "k1v2w3"',
        '{"error": "refused", "access_token": "k1v2w3"}',
        "connect(user='me', db_password='k1v2w3')",
    ],
)
def test_a_credential_in_a_line_of_code_is_masked(line: str) -> None:
    assert without_secrets(line) == line.replace("k1v2w3", "***")


@pytest.mark.parametrize(
    "line",
    [
        "password = read_password(file)",
        "api_key: str = None",
        'keywords = "title"',
        "max_tokens='12'",
        'raise KeyError("no password"), "file"',
    ],
)
def test_other_lines_of_code_stay(line: str) -> None:
    assert without_secrets(line) == line


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
    assert Description(model).settings["settings"] == {"prompt": "with ***"}
    Description(Model(api_key=SecretStr("not-needed")))
    assert without_secrets(f"{key} {token}") == "*** ***"
    described = Description(Model(prompt="a benchmark, not-needed"))
    assert described.settings["settings"]["prompt"] == "a benchmark, not-needed"
