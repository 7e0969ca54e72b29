"""The folder of a trained model: there whole, or not at all."""

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.files import sync


@contextmanager
def whole(folder: Path) -> Iterator[Path]:
    """Make a folder to write into, beside the final one; it gets its name when the block is left.

    Where the block raises, or is interrupted, nothing is left.

    Raises:
        ConfigError: the folder holds something already.
        StoreError: it cannot be written.
    """
    folder = folder.expanduser().absolute()
    if not _is_free(folder):
        raise ConfigError(f"{folder} holds something already: name another folder with --output")
    half = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
    try:
        with _storing(folder):
            half.mkdir(parents=True)
        yield half
        with _storing(folder):
            sync(half)
            if folder.exists():
                folder.rmdir()  # empty; Windows does not replace it
            half.rename(folder)
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _is_free(folder: Path) -> bool:
    try:
        return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    except OSError as error:
        raise StoreError(f"{folder}: it cannot be read ({error})") from error


@contextmanager
def _storing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{folder}: the model cannot be written ({error}). Free disk space, fix the "
            "permissions of the folder, or name another one with --output"
        ) from error
