"""The training loop of adapters: prompts and their answers, next-token loss.

The loss is the mean cross-entropy of the tokens of the answer, its end included; the prompt's may
count too, as in the scripts of Struc-Bench. Examples are padded on the right, and a batch is read a
few examples at a time, each token weighing the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from target_bench.core.errors import ConfigError
from target_bench.core.observer import Observer
from target_bench.models.lora_adapters import enough_memory
from target_bench.models.training.training_loop import (
    LONGEST_GRADIENT,
    Course,
    adamw,
    half,
    seeded,
)

_NO_LOSS = -100  # a label that cross-entropy leaves out


class Tokens(NamedTuple):
    """An example as the model reads it.

    Attributes:
        ids: prompt, answer and end.
        n_prompt: how many of them are the prompt's.
    """

    ids: Sequence[int]
    n_prompt: int


def _struc_bench() -> Course:
    return Course(epochs=3, batch_size=128, lr=3e-4)


@dataclass(frozen=True, slots=True)
class Tuning:
    """How long and how fast is trained; defaults are Struc-Bench's.

    Attributes:
        course: epochs, examples a step, learning rate and seed.
        at_once: examples that are read at a time.
        max_tokens: of prompt and answer together; longer examples are left out, never cut.
        prompts_too: whether the tokens of the prompt count in the loss.
    """

    course: Course = field(default_factory=_struc_bench)
    at_once: int = 4
    max_tokens: int = 2000
    prompts_too: bool = False

    def __post_init__(self) -> None:
        for name in ("at_once", "max_tokens"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)}: at least 1 is needed")


def fit(
    model: Any, examples: Sequence[Tokens], pad: int, tuning: Tuning, observer: Observer
) -> list[float]:
    """Train the adapter of a model, in place.

    Args:
        model: with an adapter.
        examples: what it is trained on.
        pad: the token that fills up shorter examples.
        tuning: how.
        observer: is notified of every step.

    Returns:
        The mean loss of a token in each epoch.

    Raises:
        ConfigError: a batch does not fit into memory, or the loss is not a number.
    """
    course = tuning.course
    n_steps = -(-len(examples) // course.batch_size)
    order = np.random.default_rng(course.seed)
    losses = []
    with seeded(model, course.seed):
        optimizer, schedule = adamw(model, course.lr, n_steps * course.epochs)
        for epoch in range(1, course.epochs + 1):
            observer.stage(f"train: epoch {epoch} of {course.epochs}", total=n_steps)
            model.train()
            total = counted = 0.0
            for batch in _batches(examples, order, course.batch_size):
                found, n_tokens = _step(model, batch, pad, optimizer, tuning)
                total, counted = total + found, counted + n_tokens
                schedule.step()
                observer.advance(1)
            losses.append(total / counted)
    model.eval()
    return losses


def loss(model: Any, some: Sequence[Tokens], pad: int, prompts_too: bool = False) -> Any:
    """Return the sum of the cross-entropies of the tokens that count, a scalar tensor."""
    import torch

    width = max(len(one.ids) for one in some)
    missing = [width - len(one.ids) for one in some]
    ids = [[*one.ids, *[pad] * n] for one, n in zip(some, missing, strict=True)]
    mask = [[1] * len(one.ids) + [0] * n for one, n in zip(some, missing, strict=True)]
    labels = [_labels(one, n, prompts_too) for one, n in zip(some, missing, strict=True)]
    logits = model(
        input_ids=torch.tensor(ids, device=model.device),
        attention_mask=torch.tensor(mask, device=model.device),
    ).logits
    return torch.nn.functional.cross_entropy(
        logits[:, :-1].flatten(0, 1).float(),
        torch.tensor(labels, device=model.device)[:, 1:].flatten(),
        ignore_index=_NO_LOSS,
        reduction="sum",
    )


def _labels(one: Tokens, n_missing: int, prompts_too: bool) -> list[int]:
    hidden = 0 if prompts_too else one.n_prompt
    return [_NO_LOSS] * hidden + list(one.ids[hidden:]) + [_NO_LOSS] * n_missing


def _counted(one: Tokens, prompts_too: bool) -> int:
    return len(one.ids) - (1 if prompts_too else one.n_prompt)


def _step(
    model: Any, batch: Sequence[Tokens], pad: int, optimizer: Any, tuning: Tuning
) -> tuple[float, int]:
    """Take a step; return the sum of the losses of its tokens, and how many those are."""
    import torch

    optimizer.zero_grad()
    n_tokens = sum(_counted(one, tuning.prompts_too) for one in batch)
    total = 0.0
    with enough_memory(f"{tuning.at_once} examples at a time"):
        for start in range(0, len(batch), tuning.at_once):
            some = batch[start : start + tuning.at_once]
            with half(model):
                found = loss(model, some, pad, tuning.prompts_too)
            value = float(found.detach())
            if not np.isfinite(value):
                lr = tuning.course.lr
                raise ConfigError(f"the loss is {value}: set a lower learning rate than {lr}")
            (found / n_tokens).backward()
            total += value
        torch.nn.utils.clip_grad_norm_(model.parameters(), LONGEST_GRADIENT)
        optimizer.step()
    return total, n_tokens


def _batches(
    examples: Sequence[Tokens], order: np.random.Generator, size: int
) -> Iterator[list[Tokens]]:
    places = order.permutation(len(examples)).tolist()
    for start in range(0, len(places), size):
        yield [examples[place] for place in places[start : start + size]]
