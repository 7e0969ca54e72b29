"""``target-bench labels``: what people say of tables and answers, and how many labels it takes."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

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
    group,
    option,
)
from target_bench.cli.output import check_output, print_json, say_notes
from target_bench.core.schema import TableId
from target_bench.core.text_tables import (
    Column,
    TextTable,
    counted,
    p_text,
    print_tables,
    say,
    say_wrapped,
    score_text,
)
from target_bench.harness.options import RUNS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from target_bench.core.schema import Dataset, Query
    from target_bench.runs.result import Result

HELP = "Labels from people: gold tables, reviews of questions, ratings of answers."

app = group(HELP)

CorpusName = Annotated[str, argument("A corpus by name, or the path of your own.")]
Sample = Annotated[int | None, option("How many, drawn at random. Default: all.", min=1)]
Seed = Annotated[int, typer.Option(help="Of the draw and of the order.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="The file.")]
Files = Annotated[
    list[Path],
    argument(
        "What forms saved, filled-in .jsonl or .csv, or exports of Label Studio and Argilla.",
        metavar="FILE...",
    ),
]


FileFormat = Annotated[
    Literal["html", "jsonl", "csv", "label-studio", "argilla"] | None,
    option(
        "A page, lines with empty fields to fill in, or a file to import. Default: by the "
        "suffix (.jsonl, .csv), else html.",
        "--format",
    ),
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
        option("Whose first tables are judged, as for `run`; may be repeated.", "--retriever"),
    ] = None,
    runs: Annotated[
        list[str] | None, option("The same of a stored run.", "--run", metavar="RUN")
    ] = None,
    depth: Annotated[int, typer.Option(help="How many tables of each ranking.", min=1)] = 5,
    review: Annotated[
        bool,
        typer.Option(
            "--review",
            help="Ask of questions with gold tables whether they are good ones; if any are marked "
            "synthetic, of those only.",
        ),
    ] = False,
    sample: Sample = None,
    seed: Seed = 0,
    out: Out = Path("form.html"),
    file_format: FileFormat = None,
    split: Split = None,
    data_dir: DataDir = None,
    offline: Offline = False,
    skip_bad: SkipBad = False,
    yes: Yes = False,
) -> None:
    """Rank, pool, draw, write."""
    from target_bench.core.built_in import RANKING_TASK
    from target_bench.core.errors import ConfigError
    from target_bench.data.load import load, of_task
    from target_bench.data.own_data import skipping_bad
    from target_bench.reporting.labels import tables
    from target_bench.reporting.labels.form import write_form

    check_output(out, "-o", "form.html")
    if not (retrievers or runs or review):
        raise ConfigError(
            "name with --retriever or --run what finds the tables to judge; two or more different "
            "retrievers are fairer to later ones"
        )
    name = skipping_bad(corpus) if skip_bad else corpus
    dataset = of_task(load(name, split, data_dir=data_dir), RANKING_TASK)
    say_notes(dataset.notes, False, corpus)
    possible = tables.questions(dataset, review)
    drawn = tables.shuffled(possible, seed)[:sample]
    n_questions, pools, stored = len(drawn), {}, []
    if retrievers or runs:
        stored = _rankings(name, dataset, retrievers or (), runs or (), depth, data_dir, yes=yes)
        pools = tables.pooled(drawn, stored, depth, seed)
        judged = [query for query, pool in pools.items() if not pool]
        for n, why in (
            (len(drawn) - len(pools), "no retriever found a table"),
            (len(judged), f"all tables among the first {depth} are judged already"),
        ):
            if n:
                say(f"Left out: {counted(n, 'question')} for which {why}.")
        if not review:
            n_questions = len(pools) - len(judged)
    items = tables.form_items(drawn, dataset.corpus, pools, review)
    heading = "Review of questions" if review else "Which tables answer the questions?"
    explained = tables.REVIEW_HELP if review else tables.JUDGE_HELP
    write_form(out, items, heading, explained, file_format)
    size = f"{out}: {out.stat().st_size / 1e6:,.1f} MB"
    to_judge = f", {sum(map(len, pools.values())):,} tables to judge" if stored else ""
    say(f"{size}; {n_questions:,} of {len(possible):,} questions{to_judge}")
    if len(stored) == 1:
        say(
            "Note: the pool is of one retriever, so a relevant table that it does not find is "
            "never judged. Add others with --retriever or --run."
        )
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
    """Return stored runs: those that are named, and one of each retriever.

    Raises:
        DataError: a run is on other tables.
    """
    from target_bench.cli.output import agreed, announced
    from target_bench.core.built_in import RANKING_TASK
    from target_bench.core.errors import DataError
    from target_bench.harness.options import TOP_K
    from target_bench.harness.target import TARGET

    stored = _stored(runs)
    top_k = TOP_K if depth in TOP_K else sorted({*TOP_K, depth})
    with TerminalObserver() as observer:
        for retriever in dict.fromkeys(retrievers):
            target = TARGET((RANKING_TASK, name), data_dir=data_dir, observer=observer)
            confirm = announced if yes else agreed
            (result,) = target.run(retriever, split=dataset.split, top_k=top_k, confirm=confirm)
            stored.append(result)
    for run in stored:
        if run.retrieval.identity.corpus_fingerprint != dataset.corpus.fingerprint:
            raise DataError(
                f"{run.folder}: is a run on other tables than those of {dataset.info.name} "
                f"{dataset.split} as they are now; run it again"
            )
    return stored


def _stored(runs: "Sequence[str]") -> "list[Result]":
    """Return stored runs by their folders, their ids, or how these begin."""
    from target_bench.runs.find import find
    from target_bench.runs.result import read_run

    return [read_run(find(run, RUNS)) for run in runs]


READ_HELP = """Read what people said of tables: how far they agree, and which tables are gold.

With -o, the questions are written with their gold tables, so that `target-bench run` scores them.
Of files with highlighted cells, as ToTTo's have, a person's each, Fleiss' kappa of the cells.
"""


@app.command("read", help=READ_HELP)
def read(
    corpus: CorpusName,
    files: Files,
    out: Annotated[
        Path | None,
        option(
            "The file of queries (queries.jsonl in the folder of the tables), which is replaced; "
            "or labels.qrels, for trec_eval.",
            "--out",
            "-o",
        ),
    ] = None,
    split: Split = None,
    data_dir: DataDir = None,
    offline: Offline = False,
    skip_bad: SkipBad = False,
    as_json: AsJson = False,
) -> None:
    """Check, merge, print, write."""
    from target_bench.core.errors import ConfigError
    from target_bench.data.formats.records import FILES
    from target_bench.data.highlights import HIGHLIGHTED
    from target_bench.data.load import load
    from target_bench.data.own_data import skipping_bad
    from target_bench.reporting.labels import tables
    from target_bench.reporting.labels.agreement import cell_agreement
    from target_bench.reporting.labels.form import read_records

    if out is not None:
        tables.check_place(out)
    name = skipping_bad(corpus) if skip_bad else corpus
    dataset = load(name, split, data_dir=data_dir)
    if all(HIGHLIGHTED in record for record in read_records(files)):
        if out is not None:
            raise ConfigError(
                f"-o {out}: agreement on highlighted cells is printed; no file has it"
            )
        agreement = cell_agreement(files, dataset)
        print_json(agreement) if as_json else _print_cell_agreement(agreement)
        return
    labels = tables.read_labels(files, dataset)
    merged = tables.merge(labels, dataset)
    summary = tables.summary(labels, merged)
    print_json(summary) if as_json else _print_summary(summary)
    if out is None:
        folder = Path(corpus.partition(":")[0])
        place = str(folder / "queries.jsonl") if folder.is_dir() else "labels.qrels"
        typer.echo(f"Nothing is written without -o, as in -o {shlex.quote(place)}", err=True)
        return
    tables.write_labels(out, dataset, merged, _other_splits(name, dataset))
    typer.echo(f"{out}: written", err=True)
    if out.name in FILES:
        for other in (out.with_name(name) for name in FILES if name != out.name):
            if other.is_file():
                typer.echo(f"Move {other} elsewhere: a folder has one file of queries", err=True)


def _other_splits(name: str, dataset: "Dataset") -> "dict[str, Sequence[Query]]":
    """Return split -> queries of the other splits of one's own data, which share its file."""
    from target_bench.data.load import is_path, load

    others = [split for split in dataset.info.splits if split != dataset.split]
    return {split: load(name, split).queries for split in others} if is_path(name) else {}


def _print_cell_agreement(agreement: "Mapping[str, Any]") -> None:
    people, queries = len(agreement["annotators"]), counted(agreement["queries"], "query")
    say(f"{agreement['cells']:,} cells of {queries} by {people}: {agreement['same']:.1%} the same")
    kappa, interval = _kappa(agreement)
    say(f"Fleiss' kappa: {kappa}" + (f" ({interval})" if interval else ""))


def _kappa(agreement: "Mapping[str, Any]") -> tuple[str, str]:
    """Return a kappa and its interval as text."""
    kappa, interval = agreement["kappa"], agreement["interval"]
    shown = "–" if kappa is None else score_text(kappa)
    return shown, "" if interval is None else " to ".join(map(score_text, interval))


MOST_SHOWN = 20
"""Disagreements that are printed."""


def _print_summary(summary: "Mapping[str, Any]") -> None:
    people, questions = counted(len(summary["annotators"]), "annotator"), summary["questions"]
    states = ", ".join(f"{n:,} {state}" for state, n in sorted(questions.items()))
    say(f"{counted(sum(questions.values()), 'question')} from {people}: {states}")
    if summary["judged"]:
        judged = counted(summary["judged"], "table")
        say(f"{judged} judged, {summary['relevant']:,} of them relevant")
    if without := summary["without_relevant"]:
        say(f"{counted(len(without), 'question')} without a relevant table: in no score")
    agreement = [
        [" and ".join(p["annotators"]), p["what"], f"{p['n']:,}", f"{p['same']:.1%}", *_kappa(p)]
        for p in summary["agreement"]
    ]
    disagreements = [
        [
            line["query_id"],
            str(TableId(*line["table"])) if line["table"] else "the question",
            "; ".join(f"{reply}: {', '.join(names)}" for reply, names in line["said"].items()),
        ]
        for line in summary["disagreements"]
    ]
    more = len(disagreements) - MOST_SHOWN
    names = ("annotators", "judged", "n", "same", "kappa", "95%")
    tables = [
        TextTable(_columns(names, left=2), agreement, "Agreement (Cohen's kappa)"),
        TextTable(
            [Column("question"), Column("table"), Column("said", prose=True)],
            disagreements[:MOST_SHOWN],
            "As many say one as the other: such a table stays unjudged, such a question as it was",
            note=f"and {more:,} more (--json lists all)" if more > 0 else None,
        ),
    ]
    if shown := [table for table in tables if table.rows]:
        say("")
        print_tables(*shown)


def _columns(names: "Sequence[str]", left: int) -> list[Column]:
    """Return columns, of which the first ones hold words and the others numbers."""
    return [Column(name, right=i >= left) for i, name in enumerate(names)]


RATE_HELP = """Write a form in which people rate the answers of a run, or compare those of two.

`target-bench labels rate RUN -o form.html --sample 100`; `target-bench labels rated RUN
labels-*.json` reads what they save. Of two runs, each query's answers stand side by side; with
--criteria totto or struc-bench the answers of all runs are mixed, and each is rated by itself.
"""


@app.command("rate", help=RATE_HELP)
def rate(
    runs: Annotated[list[str], argument(metavar="RUN...")],
    out: Out = Path("form.html"),
    file_format: FileFormat = None,
    criteria: Annotated[
        Literal["totto", "struc-bench", "abilities", "side-by-side"] | None,
        option(
            "totto: fluency, faithfulness, covered cells, information; struc-bench: content, "
            "format and types of errors; abilities: coverage, formatting, reasoning, "
            "comprehension, pragmatics, hallucination, of two runs side by side. Default: totto "
            "where cells are highlighted; of two runs, which answer is better."
        ),
    ] = None,
    sample: Sample = None,
    seed: Seed = 0,
    data_dir: DataDir = None,
    offline: Offline = False,
) -> None:
    """Open the runs, load their data, write the file."""
    from target_bench.reporting.labels.form import write_form
    from target_bench.reporting.labels.ratings import RATE_HELP, rating_items

    check_output(out, "-o", "form.html")
    items = rating_items(
        [run.folder for run in _stored(runs)],
        criteria,
        sample=sample,
        seed=seed,
        data_dir=data_dir,
    )
    write_form(out, items, f"Rate {len(items):,} answers", RATE_HELP, file_format)
    say(f"{out}: {out.stat().st_size / 1e6:,.1f} MB")


RATED_HELP = """Read ratings, and print their correlations with every metric of the run.

Pearson's r, Spearman's rho and Kendall's tau-b over the rated answers, each with its 95% interval.
With --beside, the mean ratings of two runs and a paired test of their difference.
"""


@app.command("rated", help=RATED_HELP)
def rated(
    run: Annotated[str, argument(metavar="RUN")],
    files: Files,
    other: Annotated[
        str | None,
        typer.Option("--beside", metavar="RUN", help="A second run: compare the ratings."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check the files, correlate or compare, print."""
    from target_bench.reporting.labels.ratings import (
        compare_ratings,
        rating_agreement,
        read_ratings,
    )

    runs = _stored([run, other] if other else [run])
    ratings, *other_ratings = read_ratings(files, runs)
    agreement = rating_agreement(runs[0], ratings)
    compared = compare_ratings(ratings, *other_ratings) if other else []
    if as_json:
        print_json(
            agreement
            | {
                name: [{"criterion": c, "beside": b, **asdict(r)} for c, b, r in agreement[name]]
                for name in ("metrics", "raters")
            }
            | ({"compared": compared} if other else {})
        )
        return
    people = len({name for by_rater in ratings.values() for name in by_rater})
    say(f"{counted(agreement['answers'], 'answer')} rated by {counted(people, 'annotator')}")
    if other:
        for letter, each in zip("AB", runs, strict=True):
            say(f"{letter}: {each.folder.name}")
        rows = [
            [
                row["criterion"], f"{row['n']:,}", f"{row['first']:.2f}", f"{row['second']:.2f}",
                f"{row['difference']:+.2f}", p_text(row["p"]),
            ]
            for row in compared
        ]  # fmt: skip
        names = ("criterion", "answers", "A", "B", "A - B", "p")
        print_tables(TextTable(_columns(names, left=1), rows))
        return
    for name, mean in agreement["means"].items():
        say(f"{name}: mean {mean:.2f}")
    for beside, correlated in (("metric", "metrics"), ("raters", "raters")):
        rows = [
            [criterion, name, f"{c.n:,}", str(c.pearson), str(c.spearman), str(c.kendall)]
            for criterion, name, c in agreement[correlated]
        ]
        names = ("criterion", beside, "answers", "Pearson", "Spearman", "Kendall")
        if rows:
            print_tables(TextTable([Column(n, right=n == "answers") for n in names], rows))


PLAN_HELP = """Say how many labelled questions tell retrievers apart: each run against the first.

Questions whose first k tables are the same for both add nothing to a difference of recall@k, so
that rankings without labels are enough.
"""

_PLAN_NOTES = (
    "differ: share of questions whose first k tables are not the same set; recall@k cannot differ "
    "by more.",
    "shown: the smallest difference of recall@k that all questions are likely to show if they are "
    "labelled (power 0.8 at p < .05).",
    "Then for each difference of recall@k: the questions to sample, and those of them whose first "
    "tables differ and that need labels.",
)


@app.command("plan", help=PLAN_HELP)
def plan(
    runs: Annotated[list[str], argument(metavar="RUN RUN...")], as_json: AsJson = False
) -> None:
    """Read the rankings, print a table a run."""
    from target_bench.reporting.labels.planning import EFFECTS
    from target_bench.reporting.labels.planning import plan as planned

    plans = planned(_stored(runs))
    if as_json:
        print_json(plans)
        return
    columns = _columns(("k", "differ", "shown"), left=0)
    for effect in EFFECTS:
        difference = f"{effect:g}".removeprefix("0")
        columns += [Column(difference, right=True, label=f"questions for {difference}")]
        columns += [Column("label", True, below=True, label=f"to label for {difference}")]
    for name in dict.fromkeys(plan["run"] for plan in plans):
        own = [plan for plan in plans if plan["run"] == name]
        rows = []
        for each in own:
            shown = "–" if each["detectable"] is None else score_text(each["detectable"])
            rows.append([f"{each['k']:,}", score_text(each["share"]), shown])
            for needed in each["needed"]:
                n, to_label = needed["questions"], needed["to_label"]
                rows[-1] += ["–", ""] if n is None else [f"{n:,}", f"{to_label:,}"]
        title = f"{name} and {own[0]['baseline']}: {own[0]['questions']:,} questions"
        print_tables(TextTable(columns, rows, title))
    say("")
    for line in _PLAN_NOTES:
        say_wrapped(line)
