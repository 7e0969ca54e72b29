"""What a name with settings stands for, and what values they have."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import ConfigError
from target_bench.core.registry import Spec, parse
from target_bench.core.settings import parse_settings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("k1=1", {"k1": 1}),
        (" k1 = 1 , b = 0.5 ", {"k1": 1, "b": 0.5}),
        ("k1=1e-3", {"k1": 0.001}),
        ("k1=1E+3,b=-2e5,n=-5", {"k1": 1000.0, "b": -200000.0, "n": -5}),
        ("f=true,g=false,h=null", {"f": True, "g": False, "h": None}),
        ("f=", {"f": None}),
        ("fields=[title,header]", {"fields": ["title", "header"]}),
        (
            "fields=[[title, header], [rows]],b=1",
            {"fields": [["title", "header"], ["rows"]], "b": 1},
        ),
        ("m={a: 1, b: [2, 3]}", {"m": {"a": 1, "b": [2, 3]}}),
        ("t='a,b=[',k=1", {"t": "a,b=[", "k": 1}),
        ('t="a,\'b",k=1', {"t": "a,'b", "k": 1}),
        (r"t='[^\W_]+'", {"t": r"[^\W_]+"}),
        (r"t=\w+", {"t": r"\w+"}),
        ("t='1'", {"t": "1"}),
        ("t=a=b", {"t": "a=b"}),
        ("t=gpt-4o:mini", {"t": "gpt-4o:mini"}),
        ("a=1,", {"a": 1}),
        ("größe=3", {"größe": 3}),
    ],
)
def test_settings(text: str, expected: dict[str, Any]) -> None:
    settings = parse_settings(text, text)
    assert settings == expected
    assert list(map(type, settings.values())) == list(map(type, expected.values()))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k1", "expected key=value, found 'k1'. Settings look like bm25:"),
        ("k1=1,rows", "expected key=value, found 'rows'"),
        ("=1", "expected key=value, found '=1'"),
        ("k 1=1", "expected key=value"),
        ("1k=1", "expected key=value"),
        ("k1=1,b=2,k1=1", "k1 is set twice"),
        ("fields=[title", "a bracket or quote is not closed"),
        ("fields=title]", "a bracket or quote is not closed"),
        ("t='title", "a bracket or quote is not closed"),
        (r"t=[^\W_]+", "the value of t is not YAML"),
        ("t=[a}", "the value of t is not YAML"),
        ("t=!!python/name:os.system", "the value of t is not YAML"),
        ("t=&a [x,*a]", "the value of t is not YAML"),
        ("t=[&a [x,x],[*a,*a]]", "the value of t is not YAML"),
        (f"t={3000 * '['}{3000 * ']'}", "the value of t is not YAML"),
    ],
)
def test_broken_settings(text: str, message: str) -> None:
    """The message says what is wrong and shows the whole text."""
    whole = f"bm25:{text}"
    with pytest.raises(ConfigError) as caught:
        parse("retriever", whole)
    assert message in str(caught.value)
    assert str(caught.value).startswith(repr(whole))


YAML_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"}
words = st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True).filter(lambda w: w not in YAML_WORDS)
values = st.one_of(
    st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), words
)


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@given(st.dictionaries(words, st.one_of(values, st.lists(values, max_size=3)), max_size=5))
def test_settings_round_trip(settings: dict[str, Any]) -> None:
    items = (
        f"{key}=[{','.join(map(_written, value))}]"
        if isinstance(value, list)
        else f"{key}={_written(value)}"
        for key, value in settings.items()
    )
    read = parse("retriever", f"bm25:{','.join(items)}").settings
    assert read == settings
    assert list(map(type, read.values())) == list(map(type, settings.values()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bm25", Spec("bm25", {})),
        ("bm25:", Spec("bm25", {})),
        ("BM-25:k1=2", Spec("BM-25", {"k1": 2})),
        ("unheard-of:k1=2", Spec("unheard-of", {"k1": 2})),
        ("package.module:Class", Spec("package.module:Class", {})),
        ("package.module:Class:k1=2,t=a:b", Spec("package.module:Class", {"k1": 2, "t": "a:b"})),
        ("some/file.py:Class", Spec("some/file.py:Class", {})),
        ("./my file.py:Class:k1=2", Spec("./my file.py:Class", {"k1": 2})),
        ("/a/b.c/d.py:Class:x=[a,b]", Spec("/a/b.c/d.py:Class", {"x": ["a", "b"]})),
        ("m.py:Outer:inner=n.py:Inner", Spec("m.py:Outer", {"inner": "n.py:Inner"})),
        ("module:Outer:inner=n.py:Inner", Spec("module:Outer", {"inner": "n.py:Inner"})),
        ("bm25:t=n.py:Inner", Spec("bm25", {"t": "n.py:Inner"})),
    ],
)
def test_parse(text: str, expected: Spec) -> None:
    assert parse("retriever", text) == expected
