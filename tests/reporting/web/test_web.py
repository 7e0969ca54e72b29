"""What all pages share: escaping, the policy, numbers."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.reporting import web
from target_bench.reporting.web import asset, environment, script_json, security_policy, valid
from tests.reporting.report.written import HOSTILE

texts = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=[])))


@given(st.recursive(texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner)))
def test_json_in_a_script(value: Any) -> None:
    """It ends no element, is ASCII, and reads as what was put in."""
    written = str(script_json(value))
    assert not set(written) & set("<>&'\u2028\u2029")
    assert written.isascii()
    assert json.loads(written) == value


def test_json_has_no_nan() -> None:
    with pytest.raises(ValueError, match="JSON"):
        script_json([float("nan")])


@given(texts)
def test_what_utf8_cannot_hold_is_replaced(text: str) -> None:
    valid(text).encode("utf-8")
    assert len(valid(text)) == len(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_templates_escape(text: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text('<p title="{{ x }}">{{ x }}</p>', encoding="utf-8")
    page = environment(tmp_path).get_template("page.html").render(x=text)
    assert page.count("<") == 2
    assert page.count('"') == 2
    assert page.encode("utf-8")


def test_policy_names_what_may_run() -> None:
    script = asset("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = security_policy([script], [])
    assert f"script-src 'sha256-{digest}'" in policy
    assert "style-src 'none'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (web.count(12779), "12,779"),
        (web.count(None), "–"),
        (web.score(0.8419), "0.842"),
        (web.score(-0.5), "−0.500"),
        (web.score(float("nan")), "–"),
        (web.interval(0.8311, 0.8529), "0.831–0.853"),
        (web.interval(None, 1.0), "–"),
        (web.interval(0.9997, 1.0), "0.9997–1.0000"),
        (web.seconds(0.0008), "0.80 ms"),
        (web.seconds(0.085), "85 ms"),
        (web.seconds(1.236), "1.24 s"),
        (web.seconds(59.97), "1 min"),
        (web.seconds(200), "3 min 20 s"),
        (web.seconds(7500), "2 h 5 min"),
        (web.milliseconds(1240), "1,240 ms"),
        (web.milliseconds(8.46), "8.5 ms"),
        (web.probability(0.0004), "< 0.001"),
        (web.probability(0.0304), "0.030"),
        (web.probability(None), "–"),
    ],
)
def test_numbers(written: str, text: str) -> None:
    assert written == text
