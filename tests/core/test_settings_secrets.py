"""Detection and masking of credentials."""

import pytest

from target_bench.core.errors import ConfigError
from target_bench.core.identity import plugin_identity
from target_bench.core.registry import create
from target_bench.core.settings import (
    is_secret,
    looks_secret,
    masked_settings,
    may_be_a_word,
    without_secrets,
)


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
