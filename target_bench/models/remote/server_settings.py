"""Settings that all models behind the OpenAI API share, checked."""

from collections.abc import Collection, Mapping
from ipaddress import ip_address
from math import inf
from typing import Any
from urllib.parse import urlsplit

from target_bench.core.errors import ConfigError
from target_bench.core.settings import is_secret


def check_model(model: str) -> None:
    """Check the name of a model.

    Raises:
        ConfigError: it is empty.
    """
    if not model:
        raise ConfigError("model: the name of a model is needed")


def check_at_least_one(**settings: int | None) -> None:
    """Check settings that count something; None is none.

    Raises:
        ConfigError: one is below 1.
    """
    for name, value in settings.items():
        if value is not None and value < 1:
            raise ConfigError(f"{name}={value}: at least 1 is needed")


def check_prices(prices: Mapping[str, float] | None, of: Collection[str], expected: str) -> None:
    """Check prices.

    Args:
        prices: as the user gave them, or None.
        of: what has a price.
        expected: what to write, for the message.

    Raises:
        ConfigError: one is missing, below 0 or no finite number, or there is one too many.
    """
    if prices is not None and (
        set(prices) != set(of) or not all(0 <= price < inf for price in prices.values())
    ):
        raise ConfigError(f"prices: expected {expected}")


def is_local(address: str | None) -> bool:
    """Return whether an address is of this machine, whose servers nobody is paid for."""
    try:
        host = urlsplit(address or "").hostname or ""
        if host == "localhost" or host.endswith(".localhost"):
            return True
        found = ip_address(host)
    except ValueError:  # a name, or no address at all: what asks it says so
        return False
    return found.is_loopback or found.is_unspecified  # 0.0.0.0, as some servers call themselves


def check_extra(extra: Mapping[str, Any] | None, own: Collection[str]) -> None:
    """Check further parameters of a request.

    Args:
        extra: as the user gave them.
        own: parameters that have settings of their own.

    Raises:
        ConfigError: one is such a parameter, or holds a key.
    """
    for name in extra or ():
        if name in own:
            raise ConfigError(f"extra: {name} is not a further parameter of a request")
        if is_secret(name):
            raise ConfigError(f"extra: {name}: keys come from the environment (api_key_env) only")
