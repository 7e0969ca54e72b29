"""``target-bench labels``: tables judged by people, and how many questions that takes."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from target_bench.cli import label_tables
from target_bench.cli.command_line import (
    AsJson,
    DataDir,
    Debug,
    Offline,
    SkipBad,
    Split,
    TerminalObserver,
    Yes,
)
from target_bench.cli.output import print_json
from target_bench.core.text_tables import say, visible
from target_bench.harness.run_options import RUNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from target_bench.core.schema import Dataset, Query
    from target_bench.reporting.labels.pooling import Pools
    from target_bench.runs.result import Result

HELP = "Gold tables from people: a form of pooled tables, what came back, how many are needed."

app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)

CorpusName = Annotated[
    str, typer.Argument(help="A corpus by name, or the path of your own.", show_default=False)
]

FORM_HELP = """Write a form in which people judge tables: one HTML file that works offline.

`target-bench labels form ./tables --retriever bm25 --retriever tfidf` takes the first tables of
each ranking, hides which retriever found them, and asks which of them answer the question. People
save what they fill in as JSON, and `target-bench labels read` reads it.
"""


@app.command("form", help=FORM_HELP)
def form(
    corpus: CorpusName,
    retrievers: Annotated[
        list[str] | None,
        typer.Option(
            "--retriever",
            help="Whose first tables are judged, as for `run`; may be repeated.",
            show_default=False,
        ),
    ] = None,
    runs: Annotated[
        list[str] | None,
        typer.Option("--run", metavar="RUN", help="The same of a stored run.", show_default=False),
    ] = None,
    depth: Annotated[int, typer.Option(help="How many tables of each ranking.", min=1)] = 5,
    review: Annotated[
        bool,
        typer.Option(
            "--review",
            help="Ask of questions with gold tables whether they are good ones; people may edit "
            "them. If any are marked synthetic, of those only.",
        ),
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Ask about questions with gold tables, too.")
    ] = False,
    sample: Annotated[
        int | None,
        typer.Option(help="How many questions, drawn at random. Default: all.", show_default=False),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="NAME",
            help="Draw as many of each value of this property as its share; may be repeated.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the draw and of the order of tables.")] = 0,
    rows: Annotated[
        int,
        typer.Option(
            help="First rows of a table in the form; as many others are those with most words of "
            "the question.",
            min=1,
        ),
    ] = 20,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file.")] = Path("form.html"),
    split: Split = None,
    data_dir: DataDir = None,
    offline: Offline = False,
    skip_bad: SkipBad = False,
    yes: Yes = False,
    debug: Debug = False,
) -> None:
    """Rank, pool, draw, write."""
    from target_bench.core.built_in import RANKING_TASK
    from target_bench.core.errors import ConfigError
    from target_bench.data import select
    from target_bench.data.own_data import skipping_bad
    from target_bench.reporting.forms.form_page import check_place
    from target_bench.reporting.labels import pooling, sampling
    from target_bench.reporting.labels.label_form import FormOptions, write_form
    from target_bench.reporting.report.shown_tables import TableSize

    check_place(out)
    if not (retrievers or runs or review):
        raise ConfigError(
            "name with --retriever or --run what finds the tables to judge; two or more different "
            "retrievers are fairer to later ones"
        )
    name = skipping_bad(corpus) if skip_bad else corpus
    dataset = select.of_task(select.load(name, split, data_dir), RANKING_TASK)
    for note in dataset.notes:
        typer.echo(f"note: {visible(note)}", err=True)
    asked = pooling.to_review(dataset) if review else pooling.to_label(dataset, every)
    drawn = sampling.drawn(asked, sample, by or (), seed)
    stored = _rankings(name, dataset, retrievers or (), runs or (), depth, data_dir, yes=yes)
    pools = pooling.pooled(drawn, stored, depth, seed, keep_empty=review)
    for note in _left_out(pools):
        say(note)
    options = FormOptions(review, tuple(by or ()), TableSize(rows=rows))
    path = write_form(out, pools.pools, dataset.corpus, options)
    say(f"{path}: {path.stat().st_size / 1e6:,.1f} MB; {_asked(pools, len(asked))}")
    for note in _about_pools(pools):
        say(note)
    say(
        "Each person opens a copy in a browser and saves a file. Then: target-bench labels read "
        f"{shlex.quote(name)} labels-*.json"
    )


def _rankings(
    name: str,
    dataset: "Dataset",
    retrievers: "Sequence[str]",
    runs: "Sequence[str]",
    depth: int,
    data_dir: Path | None,
    *,
    yes: bool,
) -> "list[Result]":
    """Return stored runs: those that are named, and one of each retriever."""
    from target_bench.cli.output import agreed, announced
    from target_bench.core.built_in import RANKING_TASK
    from target_bench.harness.run_options import TOP_K
    from target_bench.harness.target import TARGET
    from target_bench.reporting.labels.pooling import check_tables
    from target_bench.runs.find import find
    from target_bench.runs.result import read_run

    folders = [find(run, RUNS) for run in runs]
    top_k = TOP_K if depth in TOP_K else sorted({*TOP_K, depth})
    with TerminalObserver() as observer:
        for retriever in dict.fromkeys(retrievers):
            target = TARGET((RANKING_TASK, name), data_dir=data_dir, observer=observer)
            confirm = announced if yes else agreed
            (result,) = target.run(retriever, split=dataset.split, top_k=top_k, confirm=confirm)
            folders.append(result.folder)
    found = [read_run(folder) for folder in folders]
    check_tables(found, dataset)
    return found


def _asked(pools: "Pools", n: int) -> str:
    questions = f"{len(pools.pools):,} of {n:,} questions"
    if not pools.found_alone:
        return questions
    return f"{questions}, {pools.n_tables:,} tables to judge"


def _left_out(pools: "Pools") -> "Iterator[str]":
    for n, why in (
        (pools.not_found, "no retriever found a table"),
        (pools.judged, f"all tables among the first {pools.depth} are judged already"),
    ):
        if n:
            yield f"Left out: {n:,} question{'' if n == 1 else 's'} for which {why}."


def _about_pools(pools: "Pools") -> "Sequence[str]":
    if not pools.found_alone:
        return ()
    if len(pools.found_alone) == 1:
        return (
            "Note: the pool is of one retriever, so a relevant table that it does not find is "
            "never judged. Add others with --retriever or --run.",
        )
    alone = "; ".join(f"{name}: {n:,}" for name, n in pools.found_alone.items())
    return (f"Tables that one run alone has among its first {pools.depth}: {alone}",)


READ_HELP = """Read what people saved: how far they agree, and which tables are gold.

With -o, the questions are written with their gold tables, so that `target-bench run` scores them.
"""


@app.command("read", help=READ_HELP)
def read(
    corpus: CorpusName,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="What forms saved.", show_default=False),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The file of queries (queries.jsonl in the folder of the tables), which is "
            "replaced; or labels.qrels, for trec_eval.",
            show_default=False,
        ),
    ] = None,
    split: Split = None,
    data_dir: DataDir = None,
    offline: Offline = False,
    skip_bad: SkipBad = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Check, merge, print, write."""
    from target_bench.data import select
    from target_bench.data.own_data import skipping_bad
    from target_bench.reporting.labels import labelled_queries
    from target_bench.reporting.labels.collected import collect

    if out is not None:
        labelled_queries.check_place(out)
    name = skipping_bad(corpus) if skip_bad else corpus
    dataset = select.load(name, split, data_dir)
    found = collect(files, dataset)
    if as_json:
        print_json(found.to_json())
    else:
        label_tables.print_collected(found)
    if out is None:
        typer.echo(
            f"Nothing is written without -o, as in -o {shlex.quote(_place(corpus))}", err=True
        )
        return
    others = _other_splits(name, dataset)
    labelled_queries.write_labels(out, dataset, found.by_query, found.by, others)
    typer.echo(f"{out}: written", err=True)


def _place(corpus: str) -> str:
    folder = Path(corpus.partition(":")[0])
    return str(folder / "queries.jsonl") if folder.is_dir() else "labels.qrels"


def _other_splits(name: str, dataset: "Dataset") -> "dict[str, Sequence[Query]]":
    """Return split -> queries of the other splits of one's own data, which share its file."""
    from target_bench.data import select
    from target_bench.data.read_split import is_path

    if not is_path(name):
        return {}
    others = [split for split in dataset.info.splits if split != dataset.split]
    return {split: select.load(name, split).queries for split in others}


PLAN_HELP = """Say how many labelled questions tell retrievers apart: each run against the first.

Runs need no labels: questions whose first k tables are the same for both add nothing to a
difference of recall@k. Labelled questions, as of a pilot, make the numbers smaller.
"""


@app.command("plan", help=PLAN_HELP)
def plan(
    runs: Annotated[list[str], typer.Argument(metavar="RUN RUN...", show_default=False)],
    effects: Annotated[
        list[float] | None,
        typer.Option(
            "--effect",
            help="A difference of recall that is to be shown; may be repeated. Default: 0.01, "
            "0.02, 0.05 and 0.1.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Read the rankings, print a table a run."""
    from target_bench.reporting.labels.planning import EFFECTS
    from target_bench.reporting.labels.planning import plan as planned
    from target_bench.runs.find import find
    from target_bench.runs.result import read_run

    wanted = tuple(dict.fromkeys(effects or EFFECTS))
    found = planned([read_run(find(run, RUNS)) for run in runs], wanted)
    if as_json:
        print_json([one.to_json() for one in found])
        return
    label_tables.print_plans(found, wanted)
