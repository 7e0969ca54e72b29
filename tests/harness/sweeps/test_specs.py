"""Plug-ins with settings as text."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.harness.yaml_file import add_settings

SCALARS = st.none() | st.booleans() | st.integers() | st.text() | st.floats(-1e9, 1e9)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(min_size=1), inner),
    max_leaves=5,
)


@settings(max_examples=30)
@given(st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True), VALUES, max_size=4))
def test_reads_back_as_the_same(values: dict[str, Any]) -> None:
    """Or says that it cannot be written."""
    try:
        text = add_settings("retriever", "bm25", values)
    except ConfigError:
        return
    parsed = registry.parse("retriever", text)
    assert (parsed.target, parsed.settings) == ("bm25", values)
