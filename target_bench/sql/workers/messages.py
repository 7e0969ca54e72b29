"""Messages between a pool and its workers: plain values, each preceded by its length."""

import io
import pickle
import struct
from typing import IO, Any, NoReturn

_LENGTH = struct.Struct("<Q")


def send(file: IO[bytes], value: Any) -> None:
    """Write a value made of numbers, text, bytes, None, tuples and lists.

    Raises:
        OSError: the other end is closed.
    """
    data = pickle.dumps(value, protocol=5)
    file.write(_LENGTH.pack(len(data)))
    file.write(data)
    file.flush()


def receive(file: IO[bytes]) -> Any:
    """Read the next value.

    Raises:
        EOFError: the other end is closed.
        pickle.UnpicklingError: it is more than plain values.
    """
    (length,) = _LENGTH.unpack(_exactly(file, _LENGTH.size))
    return _Plain(io.BytesIO(_exactly(file, length))).load()


def _exactly(file: IO[bytes], n: int) -> bytes:
    data = file.read(n)
    if len(data) < n:
        raise EOFError
    return data


class _Plain(pickle.Unpickler):
    """An unpickler of plain values only: no class, so no code from outside."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name} is not a plain value")
