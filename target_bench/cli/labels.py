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
    from target_bench.reporting.labels.form import Item
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
            help="Ask of questions with gold tables whether they are good ones; people may edit "
            "them. If any are marked synthetic, of those only.",
        ),
    ] = False,
    sample: Sample = None,
    seed: Seed = 0,
    rows: Annotated[
        int,
        typer.Option(
            help="First rows of a table in the form; as many others are those with most words of "
            "the question.",
            min=1,
        ),
    ] = 20,
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
    possible = tables.to_review(dataset) if review else tables.to_label(dataset)
    drawn = tables.shuffled(possible, seed)[:sample]
    items = tables.review_items(drawn, dataset.corpus, rows) if review else []
    n_questions, to_judge = len(drawn), ""
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
        items = _by_question(items + tables.pool_items(drawn, pools, dataset.corpus, rows))
        to_judge = f", {sum(map(len, pools.values())):,} tables to judge"
    heading = "Review of questions" if review else "Which tables answer the questions?"
    explained = tables.REVIEW_HELP if review else tables.JUDGE_HELP
    write_form(out, items, heading, explained, file_format)
    say(
        f"{out}: {out.stat().st_size / 1e6:,.1f} MB; {n_questions:,} of {len(possible):,} questions"
        + to_judge
    )
    if to_judge and len(stored) == 1:
        say(
            "Note: the pool is of one retriever, so a relevant table that it does not find is "
            "never judged. Add others with --retriever or --run."
        )
    say(
        "Each person opens a copy in a browser and saves a file. Then: target-bench labels read "
        f"{shlex.quote(name)} labels-*.json"
    )


def _by_question(items: "Sequence[Item]") -> "list[Item]":
    """Return items with those of each question side by side, in the order of the first of them."""
    order = {name: n for n, name in enumerate(dict.fromkeys(i.key["query_id"] for i in items))}
    return sorted(items, key=lambda item: order[item.key["query_id"]])


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
    stored = [read_run(folder) for folder in folders]
    for run in stored:
        if run.retrieval.identity.corpus_fingerprint != dataset.corpus.fingerprint:
            raise DataError(
                f"{run.folder}: is a run on other tables than those of {dataset.info.name} "
                f"{dataset.split} as they are now; run it again"
            )
    return stored


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


def _print_cell_agreement(agreement: "Mapping[str, Any]") -> None:
    kappa, interval = agreement["kappa"], agreement["interval"]
    shown = "–" if kappa is None else score_text(kappa)
    bounds = "" if interval is None else f" ({' to '.join(map(score_text, interval))})"
    people, queries = len(agreement["annotators"]), counted(agreement["queries"], "query")
    say(f"{agreement['cells']:,} cells of {queries} by {people}: {agreement['same']:.1%} the same")
    say(f"Fleiss' kappa: {shown}{bounds}")


def _other_splits(name: str, dataset: "Dataset") -> "dict[str, Sequence[Query]]":
    """Return split -> queries of the other splits of one's own data, which share its file."""
    from target_bench.data.load import is_path, load

    if not is_path(name):
        return {}
    others = [split for split in dataset.info.splits if split != dataset.split]
    return {split: load(name, split).queries for split in others}


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
        [
            " and ".join(pair["annotators"]),
            pair["what"],
            f"{pair['n']:,}",
            f"{pair['same']:.1%}",
            "–" if pair["kappa"] is None else score_text(pair["kappa"]),
            "" if pair["interval"] is None else " to ".join(map(score_text, pair["interval"])),
        ]
        for pair in summary["agreement"]
    ]
    columns = [Column("annotators"), Column("judged")]
    columns += [Column(name, right=True) for name in ("n", "same", "kappa", "95%")]
    disagreements = [
        [
            line["query_id"],
            str(TableId(*line["table"])) if line["table"] else "the question",
            "; ".join(f"{reply}: {', '.join(names)}" for reply, names in line["said"].items()),
        ]
        for line in summary["disagreements"]
    ]
    more = f"and {len(disagreements) - MOST_SHOWN:,} more (--json lists all)"
    tables = [
        TextTable(columns, agreement, "Agreement (Cohen's kappa)"),
        TextTable(
            [Column("question"), Column("table"), Column("said", prose=True)],
            disagreements[:MOST_SHOWN],
            "As many say one as the other: such a table stays unjudged, such a question as it was",
            note=more if len(disagreements) > MOST_SHOWN else None,
        ),
    ]
    if shown := [table for table in tables if table.rows]:
        say("")
        print_tables(*shown)


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
    from target_bench.runs.find import find

    check_output(out, "-o", "form.html")
    items = rating_items(
        [find(run, RUNS) for run in runs],
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
    from target_bench.runs.find import find
    from target_bench.runs.result import read_run

    runs = [read_run(find(name, RUNS)) for name in ([run, other] if other else [run])]
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
    say(f"{agreement['answers']:,} answers rated by {people}")
    if other:
        _print_compared(compared, [run.folder.name for run in runs])
        return
    for name, mean in agreement["means"].items():
        say(f"{name}: mean {mean:.2f}")
    for beside in ("metric", "raters"):
        rows = agreement["metrics" if beside == "metric" else beside]
        names = ("criterion", beside, "answers", "Pearson", "Spearman", "Kendall")
        if rows:
            shown = [
                [criterion, name, f"{c.n:,}", str(c.pearson), str(c.spearman), str(c.kendall)]
                for criterion, name, c in rows
            ]
            columns = [Column(name, right=name == "answers") for name in names]
            print_tables(TextTable(columns, shown))


def _print_compared(compared: "Sequence[Mapping[str, Any]]", names: "Sequence[str]") -> None:
    for letter, name in zip("AB", names, strict=True):
        say(f"{letter}: {name}")
    rows = [
        [
            row["criterion"],
            f"{row['n']:,}",
            *(f"{row[name]:.2f}" for name in ("first", "second")),
            f"{row['difference']:+.2f}",
            p_text(row["p"]),
        ]
        for row in compared
    ]
    columns = [Column("criterion")]
    columns += [Column(name, right=True) for name in ("answers", "A", "B", "A - B", "p")]
    print_tables(TextTable(columns, rows))


PLAN_HELP = """Say how many labelled questions tell retrievers apart: each run against the first.

Questions whose first k tables are the same for both add nothing to a difference of recall@k, so
that rankings without labels are enough.
"""


@app.command("plan", help=PLAN_HELP)
def plan(
    runs: Annotated[list[str], argument(metavar="RUN RUN...")],
    effects: Annotated[
        list[float] | None,
        option(
            "A difference of recall that is to be shown; may be repeated. Default: 0.01, 0.02, "
            "0.05 and 0.1.",
            "--effect",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Read the rankings, print a table a run."""
    from target_bench.reporting.labels.planning import EFFECTS
    from target_bench.reporting.labels.planning import plan as planned
    from target_bench.runs.find import find
    from target_bench.runs.result import read_run

    plans = planned(
        [read_run(find(run, RUNS)) for run in runs], tuple(dict.fromkeys(effects or EFFECTS))
    )
    if as_json:
        print_json(plans)
        return
    for name in dict.fromkeys(plan["run"] for plan in plans):
        print_tables(_plan_table([plan for plan in plans if plan["run"] == name]))
    say("")
    for line in _PLAN_NOTES:
        say_wrapped(line)


_PLAN_NOTES = (
    "differ: share of questions whose first k tables are not the same set; recall@k cannot differ "
    "by more.",
    "shown: the smallest difference of recall@k that all questions are likely to show if they are "
    "labelled (power 0.8 at p < .05).",
    "Then for each difference of recall@k: the questions to sample, and those of them whose first "
    "tables differ and that need labels.",
)


def _plan_table(plans: "Sequence[Mapping[str, Any]]") -> TextTable:
    first = plans[0]
    columns = [Column(name, right=True) for name in ("k", "differ", "shown")]
    for needed in first["needed"]:
        name = f"{needed['difference']:g}".removeprefix("0")
        columns += [Column(name, right=True, label=f"questions for {name}")]
        columns += [Column("label", right=True, below=True, label=f"to label for {name}")]
    rows = []
    for plan in plans:
        shown = "–" if plan["detectable"] is None else score_text(plan["detectable"])
        row = [f"{plan['k']:,}", score_text(plan["share"]), shown]
        for needed in plan["needed"]:
            n, to_label = needed["questions"], needed["to_label"]
            row += ["–", ""] if n is None else [f"{n:,}", f"{to_label:,}"]
        rows.append(row)
    title = f"{first['run']} and {first['baseline']}: {first['questions']:,} questions"
    return TextTable(columns, rows, title)
