"""What all pages share: escaping, the policy, numbers."""

import base64
import hashlib
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.reporting import web
from target_bench.reporting.web import asset, environment, make_policy, valid
from tests.reporting.report.written import HOSTILE

texts = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=[])))


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
    policy = make_policy(script, "")
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (web.count(12779), "12,779"),
        (web.count(None), "–"),
        (web.score(0.8419), ".842"),
        (web.score(-0.5), "−.500"),
        (web.score(float("nan")), "–"),
        (web.interval(0.8311, 0.8529), ".831–.853"),
        (web.interval(None, 1.0), "–"),
        (web.interval(float("nan"), float("nan")), "–"),
        (web.interval(0.9997, 1.0), ".9997–1.0000"),
        (web.duration(0.0008), "0.80 ms"),
        (web.duration(0.085), "85 ms"),
        (web.duration(1.236), "1.2 s"),
        (web.duration(7500), "7,500 s"),
        (web.duration(None), "–"),
        (web.probability(0.0004), "< .001"),
        (web.probability(0.0304), ".030"),
        (web.probability(0.38), ".38"),
        (web.probability(None), "–"),
    ],
)
def test_numbers(written: str, text: str) -> None:
    assert written == text


def _colours(theme: int) -> dict[str, tuple[float, ...]]:
    """Name of a colour -> red, green and blue from 0 to 1; theme 0 is light, 1 is dark."""
    pairs = re.findall(r"--([\w-]+): light-dark\(#(\w{6}), #(\w{6})\);", asset("theme.css"))
    return {
        name: tuple(int(both[theme][i : i + 2], 16) / 255 for i in (0, 2, 4))
        for name, *both in pairs
    }


def _luminance(colour: tuple[float, ...]) -> float:
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in colour]
    return sum(share * x for share, x in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("theme", [0, 1])
@pytest.mark.parametrize(
    ("ink", "ground"),
    [
        *((ink, ground) for ink in ("ink", "ink-soft") for ground in ("paper", "raised", "sunken")),
        *(("ink", f"{name}-soft") for name in ("accent", "good", "warn")),
        *((name, f"{name}-soft") for name in ("good", "bad", "warn")),
        ("ink", "mark"),
        ("accent", "paper"),
        ("on-accent", "accent"),
        *((f"series-{i}", "paper") for i in range(1, 9)),
    ],
)
def test_contrast(theme: int, ink: str, ground: str) -> None:
    """Of text 4.5 at least, of lines and bars 3 (WCAG 2.2, 1.4.3 and 1.4.11)."""
    colours = _colours(theme)
    dark, light = sorted(_luminance(colours[name]) for name in (ink, ground))
    assert (light + 0.05) / (dark + 0.05) >= (3 if ink.startswith("series") else 4.5)
