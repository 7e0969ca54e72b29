"""How a pool and its worker processes talk: plain values, each preceded by its length."""

import io
import pickle
import struct
from typing import IO, Any, NoReturn

_LENGTH = struct.Struct("<Q")


def send(file: IO[bytes], value: Any) -> None:
    """Write a value made of numbers, text, bytes, None, tuples and lists.

    Raises:
        OSError: nobody reads.
    """
    data = pickle.dumps(value, protocol=5)
    file.write(_LENGTH.pack(len(data)))
    file.write(data)
    file.flush()


def receive(file: IO[bytes]) -> Any:
    """Return the next value.

    Raises:
        EOFError: nobody writes any more.
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
    """Reads plain values only: no class, so no code of anybody's."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name} is no plain value")
