"""Shared parts of models on this machine: device and full memory."""

from target_bench.core.errors import ConfigError

_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "alloc_failed", "failed to allocate")
_LONGEST = 200  # characters of an error's own words


def device_of(device: str | None) -> str:
    """Return the device that was asked for; without one, the GPU if there is one.

    Raises:
        ConfigError: PyTorch has no such device.
    """
    import torch

    if device is None:
        has_mps = torch.backends.mps.is_available()
        return "cuda" if torch.cuda.is_available() else "mps" if has_mps else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        words = " ".join(str(error).split())[:_LONGEST]
        raise ConfigError(f"device={device}: {words}") from error
    return device


def is_out_of_memory(error: Exception) -> bool:
    """Return whether an error of PyTorch, on any device, says that memory does not suffice."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(words in text for words in _OUT_OF_MEMORY)
