"""Plug-ins with settings as text."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.harness.yaml_file import spec_text

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
        text = spec_text("retriever", "bm25", values)
    except ConfigError:
        return
    parsed = registry.parse("retriever", text)
    assert (parsed.target, parsed.settings) == ("bm25", values)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, "bm25"),
        ({"k1": 0.9, "fields": ["title", "header"]}, "bm25:k1=0.9,fields=[title, header]"),
        ({"rows": "all"}, "bm25:rows=all"),
        ({"a": "5"}, "bm25:a='5'"),
        ({"a": "it's, so"}, "bm25:a='it''s, so'"),
        ({"encoder": "st:model=x/y,n=2"}, "bm25:encoder='st:model=x/y,n=2'"),
        ({"a": "model:free"}, "bm25:a=model:free"),
        ({"a": "two\nlines"}, 'bm25:a="two\\nlines"'),
        ({"prices": {"input": 1.5}, "flag": True, "none": None}, None),
    ],
)
def test_is_what_people_write(values: dict[str, Any], text: str | None) -> None:
    written = spec_text("retriever", "bm25", values)
    assert text is None or written == text
    assert registry.parse("retriever", written).settings == values
