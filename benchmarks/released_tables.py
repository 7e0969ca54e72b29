"""Tables that language models wrote for RotoWire and WikiTableText, as answers.

    TARGET_BENCH_DATA=... python -m benchmarks.released_tables gpt -o gpt.json
    python -m benchmarks.released_tables llama --corpus wikitabletext --json

The outputs of GPT, Gemini and Llama that the repository of TabXEval publishes, put together from
its pairs of tables; ``--raw`` takes the text of the models, which there is of GPT and Gemini for
RotoWire. ``-o`` writes the answers for ``target-bench score --predictions``, ``--json`` scores
them.
"""

import argparse
import gzip
import json
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError
from target_bench.harness.score_external import score_file
from target_bench.runs.score_tables import to_document


def main(arguments: Sequence[str] | None = None) -> None:
    """Write or score the answers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("model", choices=["gpt", "gemini", "llama"])
    parser.add_argument("--corpus", choices=["rotowire", "wikitabletext"], default="rotowire")
    parser.add_argument("--raw", action="store_true")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    folder = Path(os.environ.get("TARGET_BENCH_DATA", "data"), "rotowire")
    answers = answers_of(folder, options.model, options.corpus, options.raw)
    text = json.dumps(answers)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    if options.json:
        with tempfile.TemporaryDirectory() as runs:
            file = options.output or Path(runs, "answers.json")
            file.write_text(text, encoding="utf-8")
            result = score_file(
                "text-to-table", options.corpus, predictions=file, data_dir=folder, out=runs
            )
            print(json.dumps(to_document(result)))


def answers_of(folder: Path, model: str, corpus: str, raw: bool = False) -> dict[str, str]:
    """Return query id -> the tables that a model wrote.

    Args:
        folder: of the data.
        model: ``gpt``, ``gemini`` or ``llama``.
        corpus: ``rotowire`` or ``wikitabletext``.
        raw: the text of the model in place of the tables that were cut from it.

    Raises:
        ConfigError: there is no such text.
    """
    if raw:
        return _raw(folder, model, corpus)
    pairs = _json(folder, f"{model}.{corpus}.pairs.json.gz")
    if corpus == "wikitabletext":
        return {key: _without_header(table) for key, (_, table) in pairs.items()}
    places = _json(folder, f"{model}.{corpus}.idx_to_table_id.json.gz")
    numbers = _numbers(folder)
    answers: dict[str, list[str]] = {}
    for key, (_, table) in pairs.items():
        report, _, name = places[key].rpartition("$$")
        titled = f"{name.title()}:\n{table.strip()}"
        answers.setdefault(numbers.get(report, report), []).append(titled)
    return {number: "\n\n".join(tables) for number, tables in answers.items()}


def _raw(folder: Path, model: str, corpus: str) -> dict[str, str]:
    if corpus != "rotowire" or model == "llama":
        raise ConfigError(f"--raw: there is no text of {model} for {corpus}")
    if model == "gpt":
        numbers = _numbers(folder)
        texts = _json(folder, "gpt.rotowire.raw.json.gz")
        return {numbers[report]: text for report, text in texts.items()}
    lines = _text(folder / "model_outputs" / "gemini.rotowire.raw.jsonl.gz").splitlines()
    return {record["key"]: record["result"] for record in map(json.loads, lines)}


def _without_header(table: str) -> str:
    """Return the rows below ``Field | Value`` and its line of dashes, which references lack."""
    lines = table.strip().splitlines()
    if [cell.strip() for cell in lines[0].strip("| ").split("|")] != ["Field", "Value"]:
        return table
    return "\n".join(line for line in lines[1:] if not _RULE.fullmatch(line))


_RULE = re.compile(r"[|:\-\s]*-[|:\-\s]*")


def _numbers(folder: Path) -> dict[str, str]:
    reports = _text(folder / "rotowire.test.text.gz").splitlines()
    return {report: str(number) for number, report in enumerate(reports)}


def _json(folder: Path, name: str) -> Any:
    return json.loads(_text(folder / "model_outputs" / name))


def _text(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()


if __name__ == "__main__":
    main()
