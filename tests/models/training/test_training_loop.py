"""The loss is the formula's, computed here by hand."""

import numpy as np
import pytest

from target_bench.core.errors import ConfigError
from target_bench.models.encoders.sentence_transformers import MiniLM
from target_bench.models.training import losses, training_loop
from target_bench.models.training.pairs import Candidate, Pair
from target_bench.models.training.training_loop import Course
from target_bench.models.training.training_record import Used

LOSS = losses.among_batch(losses.cosines)

FIG, COPY, LIME, PLUM = (
    Candidate("fig", b"f"),
    Candidate("another fig", b"f"),
    Candidate("lime", b"l"),
    Candidate("plum", b"p"),
)


def pair(question: str, table: Candidate, *negatives: Candidate, gold: bytes = b"") -> Pair:
    golds = frozenset({table.content, *([gold] if gold else [])})
    used = Used("train", "c", "train", "q", ("0", "t"), "", "")
    return Pair(question, table, negatives, golds, used)


def test_loss_is_that_of_the_formula() -> None:
    """Columns: fig, lime, a copy of fig, plum. Hidden: gold tables and copies beside the target."""
    batch = [pair("a", FIG, LIME), pair("b", COPY, LIME), pair("c", PLUM, FIG, gold=b"l")]
    model = MiniLM(device="cpu").trainable(16)
    vectors = model.encode(["a", "b", "c", "fig", "lime", "another fig", "plum"])
    scores = 20.0 * vectors[:3] @ vectors[3:].T
    allowed = np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 1, 1]], dtype=bool)
    targets = [0, 2, 3]
    expected = [
        np.log(np.exp(row[seen]).sum()) - row[target]
        for row, seen, target in zip(scores, allowed, targets, strict=True)
    ]
    assert float(LOSS(model, batch).detach()) == pytest.approx(np.mean(expected), abs=1e-4)


@pytest.mark.parametrize(
    "settings", [{"epochs": 0}, {"batch_size": 0}, {"lr": 0.0}, {"lr": float("nan")}, {"seed": -1}]
)
def test_settings_that_cannot_be(settings: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(settings))):
        Course(**settings)  # type: ignore[arg-type]


def test_rate_rises_and_falls() -> None:
    import torch

    model = torch.nn.Linear(2, 2)
    optimizer, schedule = training_loop.adamw(model, 1.0, 20)
    rates = []
    for _ in range(20):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    assert rates[:3] == [0.5, 1.0, 1.0]
    assert rates[3:] == sorted(rates[3:], reverse=True)
    assert rates[-1] == pytest.approx(1 / 18)
    assert [g["weight_decay"] for g in optimizer.param_groups] == [0.01, 0.0]


def test_a_loss_that_is_not_a_number() -> None:
    import torch

    from target_bench.core.observer import Observer

    model = MiniLM(device="cpu").trainable(16)
    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))
    pairs = [pair("a", FIG, LIME)]
    with pytest.raises(ConfigError, match="lower learning rate"):
        training_loop.fit(model, pairs, Course(), Observer(), lambda _: None, LOSS)
