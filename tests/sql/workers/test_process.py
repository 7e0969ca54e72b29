"""What pool and workers tell each other."""

import io
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.sql.workers.process import receive, send

_CELLS = st.none() | st.integers() | st.floats(allow_nan=False) | st.binary() | st.text()
_TEXT_WITH_SURROGATES = st.text(st.characters())


@given(st.lists(st.tuples(_CELLS, _CELLS | _TEXT_WITH_SURROGATES)))
def test_values_arrive_as_they_were(rows: list[Any]) -> None:
    pipe = io.BytesIO()
    send(pipe, ("rows", rows))
    send(pipe, 1)
    pipe.seek(0)
    assert receive(pipe) == ("rows", rows)
    assert receive(pipe) == 1


def test_a_closed_pipe_is_distinguished_from_an_empty_message() -> None:
    pipe = io.BytesIO()
    send(pipe, "whole")
    for length in range(len(pipe.getvalue())):
        with pytest.raises(EOFError):
            receive(io.BytesIO(pipe.getvalue()[:length]))


def test_only_plain_values_are_read() -> None:
    pipe = io.BytesIO()
    send(pipe, Path("x"))
    pipe.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="not a plain value"):
        receive(pipe)
