"""A metric of one's own, as docs/metrics.md shows it, and subclasses of built-in tasks."""

import re
from pathlib import Path

from tests.cli.inside import Inside

DOCUMENT = Path(__file__).parents[2] / "docs" / "metrics.md"
RUN = ("run", "mini", "--limit", "3", "--retriever", "oracle", "--generator", "gold", "--task")


def test_the_example_of_the_documentation(inside: Inside) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    examples = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (example,) = (code for code in examples if "(Metric)" in code)
    Path("my_metrics.py").write_text(example, encoding="utf-8")
    assert "Words" in inside.good("describe", "metric", "my_metrics.py:Wordiness")
    assert "wordiness" in inside.good(*RUN, "my_metrics.py:WordyAnswers")
    assert "wordiness" in inside.good(*RUN, "qa", "--metric", "my_metrics.py:Wordiness")
