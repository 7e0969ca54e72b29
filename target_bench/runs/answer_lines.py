"""The answers of a run as lines of text, as test servers read them."""

from pathlib import Path

from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.reasoning import without_reasoning
from target_bench.core.schema import Dataset
from target_bench.runs.record_log import write_file
from target_bench.runs.result import Result


def export_answer_lines(run: Result, dataset: Dataset, out: Path) -> tuple[Path, int]:
    """Write ``answers.txt``: the answer to each query on a line, in the order of the corpus.

    ToTTo's test server and its scripts read such a file. Reasoning blocks are left out, and line
    breaks are spaces. ``score --predictions answers.txt`` gives the scores of the run.

    Args:
        run: a finished run of answers.
        dataset: the queries that the run was of, in their order.
        out: where the file goes; made if it is not there.

    Returns:
        The path, and how many lines are empty: failed answers, and those without a text.

    Raises:
        ConfigError: the run has no answers.
        StoreError: answers are missing, or a file cannot be read or written.
    """
    answers = run.answers
    if not answers:
        raise ConfigError(f"{run.folder}: is a run of rankings; --format lines is for answers")
    generations = [answers[query.id].generation for query in dataset.queries if query.id in answers]
    if len(generations) < len(answers):
        raise StoreError(
            f"{run.folder}: {len(answers) - len(generations):,} of {len(answers):,} answers are of "
            f"no query of {dataset.info.name} {dataset.split}; name the data of the run with "
            "--data-dir or --corpus"
        )
    lines = [
        "" if answer.error is not None else " ".join(without_reasoning(answer.text).split())
        for answer in generations
    ]
    path = out / "answers.txt"
    write_file(path, "".join(f"{line}\n" for line in lines).encode("utf-8", "replace"), "-o")
    return path, lines.count("")
