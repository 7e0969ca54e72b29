"""The training loop: batches in random order, AdamW, linear warm-up and decline."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from target_bench.core.errors import ConfigError
from target_bench.core.local_models import is_out_of_memory
from target_bench.core.observer import Observer
from target_bench.models.training.pairs import Pair

Loss = Callable[[Any, Sequence[Pair]], Any]
"""Model and batch -> the mean loss, a scalar tensor."""

WARM_UP = 0.1
"""The share of steps in which the learning rate rises."""

WEIGHT_DECAY = 0.01
LONGEST_GRADIENT = 1.0


@dataclass(frozen=True, slots=True)
class Course:
    """How long and how fast is trained.

    Attributes:
        epochs: how often every pair is seen.
        batch_size: pairs at a time; the other tables of a batch are negatives.
        lr: the learning rate after the warm-up.
        seed: of the order of the pairs and of dropout.
    """

    epochs: int = 1
    batch_size: int = 32
    lr: float = 2e-5
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)}: at least 1 is needed")
        if not 0 < self.lr < float("inf"):
            raise ConfigError(f"lr={self.lr}: a number above 0 is needed, as in 2e-5")
        if not 0 <= self.seed < 2**63:
            raise ConfigError(f"seed={self.seed}: a whole number from 0 is needed")


def fit(
    model: Any,
    pairs: Sequence[Pair],
    course: Course,
    observer: Observer,
    after_epoch: Callable[[int], None],
    loss: Loss,
) -> list[float]:
    """Train a model of sentence-transformers, in place.

    Args:
        model: the model.
        pairs: what it is trained on.
        course: how.
        observer: is notified of every step.
        loss: what is made smaller.
        after_epoch: is called with the number of each finished epoch, the model in evaluation mode.

    Returns:
        The mean loss of each epoch.

    Raises:
        ConfigError: a batch does not fit into memory, or the loss is not a number.
    """
    n_steps = -(-len(pairs) // course.batch_size)
    losses = []
    with seeded(model, course.seed):
        optimizer, schedule = adamw(model, course.lr, n_steps * course.epochs)
        order = np.random.default_rng(course.seed)
        for epoch in range(1, course.epochs + 1):
            observer.stage(f"train: epoch {epoch} of {course.epochs}", total=n_steps)
            model.train()
            total = 0.0
            for batch in _batches(pairs, order, course.batch_size):
                total += _step(model, batch, optimizer, course, loss) * len(batch)
                schedule.step()
                observer.advance(1)
            losses.append(total / len(pairs))
            model.eval()
            after_epoch(epoch)
    return losses


def _step(model: Any, batch: Sequence[Pair], optimizer: Any, course: Course, loss: Loss) -> float:
    import torch

    optimizer.zero_grad()
    try:
        with half(model):
            found = loss(model, batch)
        value = float(found.detach())
        if not np.isfinite(value):
            raise ConfigError(f"the loss is {value}: set a lower learning rate than {course.lr}")
        found.backward()
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise ConfigError(
            f"a batch of {len(batch)} pairs does not fit into memory; set a lower batch size, "
            "max_tokens or n_negatives"
        ) from error
    torch.nn.utils.clip_grad_norm_(model.parameters(), LONGEST_GRADIENT)
    optimizer.step()
    return value


def half(model: Any) -> Any:
    """Compute products in bfloat16 on GPUs that have it; weights stay in float32."""
    import torch

    on = model.device.type == "cuda" and torch.cuda.is_bf16_supported()
    return torch.autocast(model.device.type, dtype=torch.bfloat16, enabled=on)


def _batches(pairs: Sequence[Pair], order: np.random.Generator, size: int) -> Iterator[list[Pair]]:
    places = order.permutation(len(pairs)).tolist()
    for start in range(0, len(places), size):
        yield [pairs[place] for place in places[start : start + size]]


def adamw(model: Any, lr: float, n_steps: int) -> tuple[Any, Any]:
    """Return AdamW, with weight decay for matrices only, and its schedule."""
    import torch

    parameters = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": WEIGHT_DECAY},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=lr)
    warm = max(1, round(n_steps * WARM_UP))

    def rate(step: int) -> float:
        return min((step + 1) / warm, (n_steps - step) / max(1, n_steps - warm))

    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, rate)


@contextmanager
def seeded(model: Any, seed: int) -> Iterator[None]:
    """Seed PyTorch's random numbers, those of the model's GPU too; later they go on as before."""
    import torch

    devices = [model.device] if model is not None and model.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield
