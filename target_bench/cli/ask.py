"""``target-bench ask``: questions with known gold tables for tables without any."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from target_bench.cli.command_line import (
    AsJson,
    DataDir,
    Offline,
    SkipBad,
    Split,
    TerminalObserver,
    Yes,
    argument,
    option,
)
from target_bench.cli.output import print_json, say_notes
from target_bench.core.errors import ConfigError, DataError

if TYPE_CHECKING:
    from target_bench.core.metric import Score
    from target_bench.data.languages import AnyLanguage
    from target_bench.harness.asking import SyntheticQuestions

HELP = """Write synthetic questions with gold tables for the tables of a corpus.

`target-bench ask ./tables` writes queries.jsonl beside the tables; `target-bench run ./tables`
scores retrievers by them. Without --generator the questions come from templates, and no model is
needed. What a question asks is tried on every table: its gold tables answer it, and no other table
does. Scores of such questions are called recall@10[synthetic].
"""
_SHOWN = 5


def ask(
    corpus: Annotated[str, argument("A corpus by name, or the path of your own.")],
    n: Annotated[int, typer.Option("--n", help="How many questions.", min=1)] = 100,
    seed: Annotated[int, typer.Option(help="The same seed gives the same questions.")] = 0,
    difficulty: Annotated[
        str,
        typer.Option(help="easy, medium, hard or mixed: by how many rare words a question holds."),
    ] = "mixed",
    generator: Annotated[
        str | None,
        option(
            "A model that writes the questions, as in openai:model=gpt-4o-mini. Default: templates."
        ),
    ] = None,
    language: Annotated[
        str,
        typer.Option(help="Of the templates: en, de, fr or es. Default: told from the tables."),
    ] = "auto",
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
    split: Split = None,
    data_dir: DataDir = None,
    offline: Offline = False,
    skip_bad: SkipBad = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Write questions, and say what was left out."""
    from target_bench.cli.output import agreed, announced
    from target_bench.data.load import load
    from target_bench.data.own_data import (
        check_new,
        question_file,
        skipping_bad,
        write_folder,
        write_questions,
    )
    from target_bench.harness import asking
    from target_bench.harness.questions import templates

    checked_difficulty = asking.checked_difficulty(difficulty)
    if language not in (*templates.LANGUAGES, "auto"):
        raise ConfigError(
            f"--language {language}: templates ask in {', '.join(templates.LANGUAGES)}; a model "
            "(--generator) asks in the language of the tables"
        )
    name = skipping_bad(corpus) if skip_bad else corpus
    path = None
    if out is None:
        path = question_file(corpus, add)
    else:
        check_new(out)
    with TerminalObserver() as observer:
        dataset = load(name, split, data_dir=data_dir)
        result = asking.ask(
            dataset,
            n,
            seed,
            checked_difficulty,
            generator,
            language=cast("AnyLanguage", language),
            confirm=announced if yes else agreed,
            observer=observer,
        )
    if not result.queries:
        raise DataError(f"{corpus}: no question can be asked. Left out: {_reasons(result)}")
    say_notes(dataset.notes, False, corpus)
    scores = asking.separation(dataset, result.queries)
    repeated = 0
    if path is None:
        assert out is not None
        write_folder(result.queries, dataset.corpus, out)
        path = out / "queries.jsonl"
    else:
        repeated = len(result.queries) - write_questions(result.queries, path)
    target = str(out) if out else name
    if as_json:
        print_json(_record(result, path, repeated, scores))
        return
    _print(result, path, repeated, target, scores)


def _reasons(result: "SyntheticQuestions") -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in result.dropped.items())


def _record(
    result: "SyntheticQuestions", path: Path, repeated: int, scores: Mapping[str, "Score"]
) -> dict[str, Any]:
    from target_bench.harness.asking import advice

    return {
        "file": str(path),
        "questions": len(result.queries) - repeated,
        "wanted": result.wanted,
        "difficulty": result.counts("difficulty"),
        "template": result.counts("template"),
        "several_gold_tables": result.several,
        "dropped": dict(result.dropped),
        "in_the_file_already": repeated,
        "recall@1": {
            name: {"value": score.value, "low": score.low, "high": score.high}
            for name, score in scores.items()
        },
        "warning": advice(scores),
    }


def _print(
    result: "SyntheticQuestions",
    path: Path,
    repeated: int,
    target: str,
    scores: Mapping[str, "Score"],
) -> None:
    from target_bench.core.text_tables import counted, say
    from target_bench.harness.asking import advice

    n = len(result.queries) - repeated
    say(f"{counted(n, 'question')} written to {path}.")
    say("For example:")
    for query in result.queries[:_SHOWN]:
        say(f"  {query.text}  [{query.gold[0].label}]")
    say("How far they tell retrievers apart (recall@1, 95% interval):")
    for name, score in scores.items():
        say(f"  {name:<12}  {score}")
    if problem := advice(scores):
        say(f"Warning: {problem}.")
    counts = ", ".join(f"{n:,} {name}" for name, n in result.counts("difficulty").items())
    say(f"Difficulty: {counts}")
    if result.several:
        say(f"{result.several:,} have several gold tables, which hold the same cells.")
    if repeated:
        say(
            f"{repeated:,} are in the file already and were not written again; another --seed "
            "gives others."
        )
    if len(result.queries) < result.wanted:
        more = "These tables give no more"
        if result.queries[0].metadata["synthetic"] != "template":
            more = "The model was asked once; --add with another --seed asks about other tables"
        say(f"{result.wanted:,} were asked for. {more}.")
    if result.dropped:
        say("Left out:")
    for reason, count in result.dropped.items():
        say(f"  {count:,}: {reason}")
    name = target if "/" in target or target.startswith(".") else f"./{target}"
    say(f"Next: target-bench run {shlex.quote(name)} --retriever bm25 --retriever tfidf")
