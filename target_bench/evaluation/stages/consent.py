"""The question before what may cost money."""

from collections.abc import Callable
from dataclasses import dataclass

from target_bench.core.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Estimate:
    """Requests to a plug-in that may cost money.

    Attributes:
        asked: the plug-in, as it was asked for.
        requests: how many are still to be sent; of a retriever, how many texts at most.
        input_tokens: about how many tokens they have together, or None where that is not known.
        cost: about what they cost, answers of full length included, or None without prices.
    """

    asked: str
    requests: int
    input_tokens: int | None
    cost: float | None


Confirm = Callable[[Estimate], bool]


def ask(confirm: Confirm, estimate: Estimate) -> None:
    """Ask.

    Raises:
        ConfigError: the answer is no.
    """
    if not confirm(estimate):
        raise ConfigError("nothing was sent: the requests were not agreed to")
