"""The question before what may cost money."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from target_bench.core.contract import is_paid
from target_bench.core.prompt_writer import estimate_tokens
from target_bench.core.schema import GenerationRequest
from target_bench.core.task import Task


@dataclass(frozen=True, slots=True)
class Estimate:
    """Requests to a plug-in that may cost money.

    Attributes:
        plugin: the plug-in, as it was asked for.
        requests: how many are still to be sent, at most; of a retriever, how many texts; of a
            judge, how many answers.
        input_tokens: about how many tokens they have together, or None where that is not known.
        cost: about what they cost, answers of full length included, or None without prices.
        unit: what ``requests`` counts where ``input_tokens`` is None: ``texts`` or ``answers``.
    """

    plugin: str
    requests: int
    input_tokens: int | None = None
    cost: float | None = None
    unit: str = "texts"


def estimate_judge(task: Task[Any], label: str, n_answers: int) -> Estimate | None:
    """Return the answers that a judge would look at, at most; None if that costs nothing."""
    if not n_answers or not is_paid(task):
        return None
    return Estimate(f"{label}: judge", n_answers, unit="answers")


def estimate_generator(
    generator: object,
    label: str,
    requests: Iterable[GenerationRequest],
    scale: float = 1.0,
    are_guesses: bool = False,
) -> Estimate | None:
    """Estimate the requests whose answers are not recorded yet; None if there are none.

    ``scale`` is how many requests each of these stands for, if they are a sample. Whether guessed
    prompts have recorded answers cannot be known, so all of them count.
    """
    n_requests = tokens = 0
    find_unanswered = getattr(generator, "find_unanswered", None)
    if find_unanswered is not None and not are_guesses:
        requests = find_unanswered(requests)
    for request in requests:
        n_requests += 1
        tokens += estimate_tokens(request.messages)
    n_requests, tokens = round(n_requests * scale), round(tokens * scale)
    if n_requests == 0:
        return None
    estimate_cost = getattr(generator, "estimate_cost", None)
    cost = estimate_cost(n_requests, tokens) if estimate_cost else None
    return Estimate(label, n_requests, tokens, cost)


Confirm = Callable[[Estimate], bool]
"""Says whether the requests may be sent."""
