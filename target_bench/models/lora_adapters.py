"""LoRA adapters (Hu et al. 2021, arXiv:2106.09685): made and merged with PEFT."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError
from target_bench.core.local_models import is_out_of_memory

ADAPTER = "adapter_config.json"
"""The file by which the folder of an adapter is known."""

_LONGEST = 300  # characters of an error's own words


@dataclass(frozen=True, slots=True)
class Lora:
    """The shape of an adapter; defaults are Struc-Bench's.

    Attributes:
        rank: of the matrices that are added.
        alpha: they are scaled by alpha / rank.
        dropout: the share of inputs that they do not get in training.
        targets: names of the linear layers that get one.
    """

    rank: int = 8
    alpha: int = 16
    dropout: float = 0.05
    targets: Sequence[str] = ("q_proj", "v_proj")

    def __post_init__(self) -> None:
        for name in ("rank", "alpha"):
            if getattr(self, name) < 1:
                raise ConfigError(f"lora {name}={getattr(self, name)}: at least 1 is needed")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"lora dropout={self.dropout}: a number from 0 to below 1 is needed")
        if not self.targets:
            raise ConfigError("lora targets: name a linear layer at least, as in q_proj,v_proj")


def with_adapter(model: Any, lora: Lora) -> Any:
    """Return the model with a new adapter, of which alone the weights are trained.

    The weights of an adapter come from PyTorch's random numbers.

    Raises:
        ConfigError: the model has no linear layer of a name among the targets, or memory does not
            suffice.
    """
    from peft import LoraConfig, get_peft_model

    known = _linear_layers(model)
    unknown = [name for name in lora.targets if name not in known]
    if unknown:
        raise ConfigError(
            f"lora targets: the model has no linear layer {', '.join(unknown)}; it has "
            f"{', '.join(sorted(known)) or 'none'}"
        )
    config = LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=list(lora.targets),
        bias="none",
        task_type="CAUSAL_LM",
    )
    with _without_deprecations(), enough_memory("the adapter"):
        return get_peft_model(model, config)


def merged(model: Any, folder: Path) -> Any:
    """Return the model with the weights of an adapter added to its own.

    Raises:
        ConfigError: the adapter does not fit the model, or cannot be read.
    """
    from peft import PeftModel

    try:
        with _without_deprecations():
            return PeftModel.from_pretrained(model, str(folder)).merge_and_unload()
    except (OSError, ValueError, RuntimeError, TypeError, KeyError) as error:
        words = " ".join(str(error).split())[:_LONGEST]
        raise ConfigError(f"adapter={folder}: PEFT cannot add it to the model: {words}") from error


@contextmanager
def enough_memory(what: str) -> Iterator[None]:
    """Report too little memory as a setting to change.

    Args:
        what: what was to be done.

    Raises:
        ConfigError: memory does not suffice.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise ConfigError(
            f"{what}: memory does not suffice; set a lower --at-once or --max-tokens, a smaller "
            "base, or one with dtype=bfloat16"
        ) from error


def _linear_layers(model: Any) -> set[str]:
    """Return the last parts of the names of all linear layers."""
    import torch
    from transformers.pytorch_utils import Conv1D

    return {
        name.rpartition(".")[2]
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear | Conv1D)
    }


@contextmanager
def _without_deprecations() -> Iterator[None]:
    """Hide what Transformers says to PEFT of names that will be gone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield
