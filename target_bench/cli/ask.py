"""``target-bench ask``: questions with known gold for tables without any."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from target_bench.cli import options
from target_bench.cli.options import argument, option
from target_bench.cli.output import exit_if_incomplete, print_json, print_notes
from target_bench.cli.progress import TerminalObserver
from target_bench.core.errors import DataError

if TYPE_CHECKING:
    from target_bench.core.metric import Score
    from target_bench.harness.questions.ask import SyntheticQuestions

HELP = """Write synthetic questions with known gold tables for the tables of a corpus.

`target-bench ask ./tables` writes queries.jsonl beside the tables; `target-bench run ./tables`
scores retrievers by them. Without --generator the questions come from templates in English and
German, and no model is needed. A question to which another table gives another answer is dropped.
"""
_SHOWN = 5


def ask(
    corpus: Annotated[str, argument("A corpus by name, or the path of your own.")],
    n: Annotated[int, typer.Option("--n", help="Number of questions.", min=1)] = 100,
    seed: Annotated[int, typer.Option(help="The same seed gives the same questions.")] = 0,
    generator: Annotated[
        str | None,
        option(
            "A model that writes the questions, as in openai:model=gpt-4o-mini. Default: templates."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        option(
            "A new folder for the questions and a copy of the tables. Default: queries.jsonl "
            "beside the tables.",
            "-o",
            metavar="FOLDER",
        ),
    ] = None,
    add: Annotated[
        bool, typer.Option("--add", help="Add to the questions that are beside the tables.")
    ] = False,
    split: options.Split = None,
    data_dir: options.DataDir = None,
    offline: options.Offline = False,
    yes: options.Yes = False,
    as_json: options.AsJson = False,
) -> None:
    """Write questions, rate them, and print what was left out."""
    from target_bench.cli.output import ask_to_pay, print_cost
    from target_bench.data.load import load
    from target_bench.data.own_data import (
        check_new_folder,
        find_question_file,
        write_folder,
        write_questions,
    )
    from target_bench.harness.questions import ask as questions

    path = None
    if out is None:
        path = find_question_file(corpus, add)
    else:
        check_new_folder(out)
    with TerminalObserver() as observer:
        dataset = load(corpus, split, data_dir=data_dir)
        written = questions.ask(
            dataset,
            n,
            seed,
            generator,
            confirm=print_cost if yes else ask_to_pay,
            observer=observer,
        )
    if not written.queries:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in written.dropped.items())
        raise DataError(f"{corpus}: no question can be asked. Left out: {reasons}")
    print_notes(dataset.notes, False, corpus)
    scores = questions.rate_questions(dataset, written.queries)
    repeated = 0
    if path is None:
        assert out is not None
        write_folder(written.queries, dataset.corpus, out)
        path = out / "queries.jsonl"
    else:
        repeated = len(written.queries) - write_questions(written.queries, path)
    if as_json:
        print_json(_record(written, path, repeated, scores))
    else:
        _print(written, path, repeated, str(out) if out else corpus, scores)
    exit_if_incomplete(dataset.notes)


def _record(
    written: "SyntheticQuestions", path: Path, repeated: int, scores: Mapping[str, "Score"]
) -> dict[str, Any]:
    from target_bench.harness.questions.ask import find_weakness

    return {
        "file": str(path),
        "questions": len(written.queries) - repeated,
        "wanted": written.wanted,
        "several_gold_tables": written.n_several_gold,
        "dropped": dict(written.dropped),
        "in_the_file_already": repeated,
        "recall@1": {
            name: {"value": score.value, "low": score.low, "high": score.high}
            for name, score in scores.items()
        },
        "warning": find_weakness(scores),
    }


def _print(
    written: "SyntheticQuestions",
    path: Path,
    repeated: int,
    target: str,
    scores: Mapping[str, "Score"],
) -> None:
    from target_bench.core.text_tables import count_noun, say
    from target_bench.harness.questions.ask import find_weakness

    n = len(written.queries) - repeated
    say(f"{count_noun(n, 'question')} written to {path}.")
    say("For example:")
    for query in written.queries[:_SHOWN]:
        say(f"  {query.text}  [{query.gold[0].label}]")
    say("How well they tell retrievers apart (recall@1, 95% interval):")
    for name, score in scores.items():
        say(f"  {name:<12}  {score}")
    if weakness := find_weakness(scores):
        say(f"Warning: {weakness}.")
    say("Synthetic questions use the words of the tables: do not choose between lexical and dense")
    say("retrievers by them.")
    if written.n_several_gold:
        say(f"{written.n_several_gold:,} have several gold tables, which hold the same cells.")
    if repeated:
        say(f"{repeated:,} are in the file already; another --seed gives others.")
    if n + repeated < written.wanted:
        more = "These tables give no more"
        if written.queries[0].metadata["synthetic"] != "template":
            more = "The model was asked once; --add with another --seed asks about other tables"
        say(f"{written.wanted:,} were asked for. {more}.")
    if written.dropped:
        say("Left out:")
    for reason, count in written.dropped.items():
        say(f"  {count:,} {reason}")
    name = target if "/" in target or target.startswith(".") else f"./{target}"
    say(f"Next: target-bench run {shlex.quote(name)} --retriever bm25 --retriever rows")
