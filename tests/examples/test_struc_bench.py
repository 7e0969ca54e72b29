"""Struc-Bench: instructions on formats, and an adapter that learns to write tables."""

import json
from pathlib import Path

import pytest

from examples.struc_bench import instructions, tune
from target_bench import ConfigError, DataError, Query, RunConfig, evaluate
from target_bench.core import registry
from target_bench.models.prompts.prompting import make_prompt_writer
from target_bench.tables.answer_tables import TableFormat
from tests.examples.tiny_llama import record, records, write_llama, write_records

WRITER = """
from target_bench import Generation

class Writer:
    def generate(self, request):
        table = request.messages[-1].content
        if "<table" in table:
            return "The table has three columns."
        if "tabular" in table:
            return Generation(request.query_id, "", error="none")
        cells = [cell for cell in table.replace("|", "\\n").split("\\n") if len(cell) > 5]
        return "It names " + cells[-1]
"""


def test_instructions_by_rules_and_by_a_generator(
    capsys: pytest.CaptureFixture[str],
) -> None:
    instructions.main(["mini", "--split", "validation", "-o", "rules"])
    assert "10 instructions by rules" in capsys.readouterr().out
    files = sorted(path.name for path in Path("rules").iterdir())
    assert files == [
        f"{name}_validation.json" for name in ("csv", "html", "json", "latex", "table")
    ]
    for path in Path("rules").iterdir():
        for example in tune.read_records(path):
            assert not instructions.quoted_cells(
                example["instruction"], example["output"], example["format"]
            )
    Path("writer.py").write_text(WRITER)
    words = ["mini", "--split", "validation", "-o", "written", "--generator", "writer.py:Writer"]
    instructions.main(words)
    counts = capsys.readouterr().out.splitlines()[-1]
    assert "2 instructions by generator" in counts
    assert "instructions by rules: the generator said nothing" in counts
    assert "instructions by rules: the generator quoted cells" in counts
    (first, _) = json.loads(Path("written/html_validation.json").read_text())
    assert first["instruction"] == "The table has three columns."
    (by_rule, _) = json.loads(Path("rules/html_validation.json").read_text())
    assert first["input"] == by_rule["input"], "the text of the query, and not the reply"
    with pytest.raises(ConfigError, match="no query is answered with tables"):
        instructions.main(["mini", "--split", "test", "-o", "none", "--limit", "0"])


def test_instructions_of_tables_without_a_text(tmp_path: Path) -> None:
    file = tmp_path / "tables.json"
    tables = {
        "html": "<table><tr><th>a</th></tr><tr><td>1</td></tr></table>",
        "latex": r"\begin{tabular}{l} a \\ 1 \end{tabular}",
    }
    file.write_text(json.dumps([{"format": k, "output": text} for k, text in tables.items()]))
    instructions.main([str(file), "-o", str(tmp_path / "out")])
    for name, output in tables.items():
        (record,) = tune.read_records(tmp_path / "out" / f"{name}_train.json")
        assert (record["format"], record["input"], record["output"]) == (name, "a\n1", output)
    for bad, message in (
        ("{", "cannot be read as JSON"),
        ('[{"output": 3}]', "record 0: expected an object with the text 'output'"),
        ('[{"output": "x", "format": "pdf"}]', "format 'pdf' is none of text"),
    ):
        file.write_text(bad)
        with pytest.raises(DataError, match=message):
            instructions.main([str(file), "-o", str(tmp_path / "no")])


@pytest.mark.parametrize(
    ("text", "instruction", "sent"),
    [
        ("TEXT", "Write.", "### Instruction:\nWrite.\n\n### Input:\nTEXT\n\n### Response:"),
        ("Write.", "", "### Instruction:\nWrite.\n\n### Response:"),
    ],
)
def test_the_template_of_alpaca(text: str, instruction: str, sent: str) -> None:
    """One with an input and one without, as of a table without a text."""
    task = registry.create("task", "text_to_table")
    writer = make_prompt_writer(task, RunConfig(prompt=tune.PROMPT), {}, False)
    metadata = {"format": "html", "instruction": instruction}
    system, user = writer.write_prompt(Query("0", text, (), metadata=metadata), ()).request.messages
    assert ("paired with an input" in system.content) == bool(instruction)
    assert user.content == sent


@pytest.mark.parametrize(
    ("table_format", "words"),
    [
        ("text", ["how many tables", "columns and rows", "names of its rows", "Do not give the"]),
        ("html", ["every HTML tag", "more than 300 words", "exact numbers", "several"]),
        ("latex", ["small example", "500 words", "border lines", "aligned", "attributes", "bold"]),
        ("latex", [r"\ref", "horizontal or vertical", "special token", "no LaTeX code", "again"]),
    ],
)
def test_prompts_ask_what_the_paper_asks(table_format: TableFormat, words: list[str]) -> None:
    assert [word for word in words if word not in instructions.PROMPTS[table_format]] == []


@pytest.mark.parametrize(("format_", "shown"), [("Write Markdown.", True), ("Write HTML.", False)])
def test_a_model_that_is_not_tuned_gets_an_example_for_raw_text(format_: str, shown: bool) -> None:
    file = tune.PROMPT.with_name("inference.yaml")
    writer = make_prompt_writer(
        registry.create("task", "text_to_table"), RunConfig(prompt=file), {}, False
    )
    query = Query("0", "TEXT", (), metadata={"format": "text", "instruction": format_})
    user = writer.write_prompt(query, ()).request.messages[1].content
    assert ("An output looks like this" in user) == shown
    assert user.endswith(f"Content: TEXT\n\nFormat: {format_}")


def test_a_quoted_cell() -> None:
    output = "|name|points|\n|-|-|\n|Anna Smith|12|"
    assert instructions.quoted_cells("write anna smith first", output, "text") == ["anna smith"]
    assert instructions.quoted_cells("columns name, points, 12", output, "text") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read as JSON"),
        ("[]", "expected a list of objects"),
        ('[{"instruction": "i", "input": "x"}]', "record 0: field 'output': expected a text"),
        ('[{"instruction": "i", "input": "", "output": "no"}]', "'output' holds no table"),
    ],
)
def test_broken_records(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "table_train.json"
    path.write_text(text)
    with pytest.raises(DataError, match=rf"table_train\.json.*{message}"):
        list(tune.read_records(path))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_model_learns_to_write_tables(
    trainers: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The answers of the adapter are tables of its records; without it they are noise."""
    base = write_llama(tmp_path / "base")
    file = write_records(tmp_path / "table_train.json", records())
    own = tmp_path / "own"
    (own / "tables").mkdir(parents=True)
    (own / "tables" / "any.csv").write_text("a,b\n1,2\n")
    test = record("ann", "3")
    query = {"query_id": "q", "query": test["input"], "answer": test["output"], "split": "test"}
    query |= {"task": "text_to_table", "format": "text", "instruction": test["instruction"]}
    other = query | {"query_id": "r", "query": "another", "split": "validation"}
    lines = (json.dumps({**q, "table_id": None}) for q in (query, other))
    (own / "queries.jsonl").write_text("\n".join(lines) + "\n")
    out = tmp_path / "adapter"
    words = [str(file), "--base", str(base), "--batch-size", "8", "--at-once", "8"]
    words += ["--lr", "2e-2", "--epochs", "12", "-o", str(out)]
    words += ["--validation", "3", "--evaluate-every", "8", "--weight-decay", "0.01"]
    tune.main([*words, "--keep-out", f"{own}:validation"])
    printed = capsys.readouterr().out
    assert "28 records to train on, 3 to choose a checkpoint by" in printed
    assert " of 48 has the least loss on them" in printed
    assert "31 records; 1 overlap with what is kept out" in printed, "it is answered with its table"
    assert "31 records, 0 are too long" in printed
    spec = f"transformers:model={base},max_new_tokens=24"
    with_it = f"{spec},adapter={out}"
    texts = []
    for generator in (spec, with_it):
        (run,) = evaluate(
            "no-context",
            str(own),
            split="test",
            task="text_to_table",
            generator=generator,
            prompt=tune.PROMPT,
        )
        texts.append(run.run.answers["q"].text)
    assert "|name|points|" in texts[1]
    assert "|name|points|" not in texts[0]
    with pytest.raises(ConfigError, match="records have over 4 tokens"):
        tune.main([*words, "-o", str(tmp_path / "new"), "--max-tokens", "4"])
    with pytest.raises(ConfigError, match="--validation 99: there are 32 records"):
        tune.main([*words, "-o", str(tmp_path / "new"), "--validation", "99"])
    with pytest.raises(ConfigError, match="holds something already"):
        tune.main(words)
