"""Prompts in a report are those that were sent, or it says why they are not there."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from target_bench.harness.target import TARGET
from target_bench.reporting.report import write_report
from target_bench.reporting.report.sent_prompts import Texts, parts
from tests.builders import Recorder, only, rewrite, rewrite_lines
from tests.reporting.report.written import Recording, blocks, listed

OWN = """\
system: Be brief.
user: "{{ tables }} ? {{ query }}"
no_context_system: Be brief.
no_context_user: "{{ query }}"
"""


def _answered(out: Path, task: str = "qa", **asked: Any) -> tuple[Path, Recording]:
    recording = Recording()
    target = TARGET((task, "mini"), out=out, observer=Recorder())
    return only(target.run("bm25", generator=recording, **asked)).folder, recording


def _prompts(report: Path) -> tuple[dict[str, Any], str | None]:
    """Query id -> its prompt as the page shows it, and why there is none."""
    found = blocks(report)
    texts = listed(found, "texts")
    prompts = {}
    for query in listed(found, "queries"):
        prompt = query["runs"][0].get("prompt")
        if isinstance(prompt, list):
            prompt = [
                (role, "".join(texts[p] if isinstance(p, int) else p for p in written))
                for role, written in prompt
            ]
        prompts[query["id"]] = prompt
    return prompts, found["overview"]["runs"][0]["no_prompt"]


@pytest.mark.parametrize(
    ("task", "asked"),
    [
        ("qa", {}),
        ("qa", {"prompt_tokens": 120, "table_format": "csv"}),
        ("fact_verification", {}),
        ("text_to_sql", {"structured": False}),
        ("text_to_sql", {"schema_scope": "tables"}),
    ],
)
def test_what_was_sent_is_shown(task: str, asked: dict[str, Any], tmp_path: Path) -> None:
    run, recording = _answered(tmp_path, task, **asked)
    prompts, problem = _prompts(write_report([run], tmp_path / "r.html"))
    assert problem is None
    assert len(prompts) == len(recording.sent)
    for query_id, messages in recording.sent.items():
        first = messages[:2]  # SQL that cannot be run is asked for again
        assert prompts[query_id] == [(m.role, m.content) for m in first]


def test_a_prompt_of_the_users_own(tmp_path: Path) -> None:
    """It has to be named; then what was sent is shown."""
    own = tmp_path / "own.yaml"
    own.write_text(OWN, encoding="utf-8")
    run, recording = _answered(tmp_path, prompt=own)
    prompts, problem = _prompts(write_report([run], tmp_path / "r.html"))
    assert problem is not None
    assert "--prompt" in problem
    assert set(prompts.values()) == {None}
    prompts, problem = _prompts(write_report([run], tmp_path / "r.html", prompts=[own]))
    assert problem is None
    query_id, messages = next(iter(recording.sent.items()))
    assert prompts[query_id] == [(m.role, m.content) for m in messages]


def test_another_version_wrote_the_prompts(tmp_path: Path) -> None:
    run, _ = _answered(tmp_path)
    rewrite(run / "manifest.json", lambda m: m["identity"]["prompt"].update(code="0" * 12))
    _, problem = _prompts(write_report([run], tmp_path / "r.html"))
    assert problem is not None
    assert "another version" in problem


def test_rows_shown_otherwise(tmp_path: Path) -> None:
    """A prompt that would show other rows than the run says is not shown."""
    run, _ = _answered(tmp_path)
    lines = rewrite_lines(
        run / "generations.jsonl",
        lambda lines: lines[0].update(shown_rows=[0] * len(lines[0]["shown_rows"])),
    )
    prompts, _ = _prompts(write_report([run], tmp_path / "r.html"))
    assert "other rows" in prompts[lines[0]["query_id"]]
    assert isinstance(prompts[lines[1]["query_id"]], list)


@pytest.mark.parametrize("generator", ["gold", "empty"])
def test_modes_send_nothing(generator: str, tmp_path: Path) -> None:
    target = TARGET(("qa", "mini"), out=tmp_path, observer=Recorder())
    run = only(target.run("bm25", generator=generator)).folder
    _, problem = _prompts(write_report([run], tmp_path / "r.html"))
    assert problem is not None
    assert "No prompt was sent" in problem


def test_a_retrieval_that_moved(tmp_path: Path) -> None:
    """A run of answers needs the retrieval it is built on."""
    from target_bench.core.errors import StoreError

    run, _ = _answered(tmp_path / "runs")
    alone = Path(shutil.copytree(run, tmp_path / "alone" / run.name))
    with pytest.raises(StoreError, match="no such run folder"):
        write_report([alone], tmp_path / "r.html")


def test_parts_make_up_the_message() -> None:
    """Whatever a message holds; tables that come again under another number are kept once."""
    texts = Texts()
    table = "| a | b |\n" * 40
    one, two = f"Table 1:\n{table}\n\nTable 2:\nx\n\nAsk", f"Table 7:\n{table}\n\nTable 8:\ny"
    found = [parts(message, texts) for message in (one, two, "Table 1:\nTable 1:\n", "")]
    kept = [text for block in texts.blocks(last=True) for text in _texts(block.text)]
    for message, pieces in zip((one, two, "Table 1:\nTable 1:\n", ""), found, strict=True):
        assert "".join(kept[p] if isinstance(p, int) else p for p in pieces) == message
    assert len(kept) == 1


def _texts(encoded: str) -> list[str]:
    import base64
    import zlib

    found: list[str] = json.loads(zlib.decompress(base64.b64decode(encoded)))
    return found
