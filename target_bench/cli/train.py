"""``target-bench train``: models of retrievers, and adapters of models that write tables."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from target_bench.cli import train_size, train_struct
from target_bench.cli.command_line import AsJson, Corpora, DataDir, Debug, Offline
from target_bench.core.errors import ConfigError
from target_bench.core.schema import Field, Format, RowLimit

if TYPE_CHECKING:
    from target_bench.models.training.fine_tuning import Settings, Trained
    from target_bench.models.training.model_kinds import Kind

HELP = "Train the models of retrievers, and models that write tables, on the queries of corpora."
DENSE_HELP = """Fine-tune a sentence-transformers encoder for dense retrieval.

`target-bench train dense --corpus fetaqa -o models/my-encoder` trains MiniLM on the train split,
with hard negatives from BM25, and keeps the questions and gold tables of test and validation out.
"""
LATE_HELP = """Fine-tune a model of late interaction (ColBERT): a vector for every token.

`target-bench train late-interaction --corpus fetaqa -o models/my-colbert` begins with MiniLM's
token vectors. What is trained on, and what is kept out, is as for `train dense`.
"""
RERANKER_HELP = """Fine-tune a cross-encoder, which reads question and table together.

`target-bench train reranker --corpus fetaqa -o models/my-reranker` begins with MiniLM's weights
and learns to tell the gold table from those that BM25 ranks first. What is trained on, and what is
kept out, is as for `train dense`.
"""
HELPS: Mapping["Kind", str] = {
    "dense": DENSE_HELP,
    "late-interaction": LATE_HELP,
    "reranker": RERANKER_HELP,
}

app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)


train_size.add_to(app)
train_struct.add_to(app)


def _train(
    context: typer.Context,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where the model goes: a new or empty folder.")
    ],
    corpora: Corpora = None,
    split: Annotated[str, typer.Option("--split", help="The split to train on.")] = "train",
    validation_split: Annotated[
        str | None,
        typer.Option(help="Keep the epoch that does best on this split. Default: the last epoch."),
    ] = None,
    keep_out: Annotated[
        list[str] | None,
        typer.Option(
            "--keep-out",
            help="A split that will be scored, as in test, or ottqa:validation of another corpus; "
            "may be repeated. Default: the corpus's default split and its validation.",
            show_default=False,
        ),
    ] = None,
    shared_tables: Annotated[
        bool,
        typer.Option(
            "--shared-tables",
            help="Train on tables that kept-out splits ask about too; only questions are kept out.",
        ),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse to train where questions overlap.")
    ] = False,
    base: Annotated[
        str,
        typer.Option(
            help="The model to begin with: minilm, for dense sentence-transformers:model=NAME, for "
            "the others a folder or a name on the Hugging Face hub."
        ),
    ] = "minilm",
    negatives: Annotated[
        str, typer.Option(help="The retriever whose best tables are hard negatives.")
    ] = "bm25",
    n_negatives: Annotated[
        int | None,
        typer.Option(
            help="Hard negatives per question; 0 is none. Default: 1, for a reranker 4.",
            show_default=False,
        ),
    ] = None,
    epochs: Annotated[int, typer.Option(help="How often every pair is seen.")] = 1,
    batch_size: Annotated[int, typer.Option(help="Pairs at a time.")] = 32,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            help="Of a text at most, now and when the model is used. Default: the base's."
        ),
    ] = None,
    lr: Annotated[float, typer.Option(help="The learning rate after the warm-up.")] = 2e-5,
    seed: Annotated[int, typer.Option(help="Of the order of the pairs and of dropout.")] = 0,
    fields: Annotated[
        str, typer.Option(help=f"Parts of a table that are written: {', '.join(get_args(Field))}.")
    ] = "title,section,header,rows",
    rows: Annotated[str, typer.Option(help="How many rows of a table: a number, all or auto.")] = (
        "auto"
    ),
    format: Annotated[
        Format, typer.Option("--format", help="How header and rows are written.")
    ] = "text",
    limit: Annotated[
        int | None, typer.Option("--limit", help="Only the first questions of each split.")
    ] = None,
    data_dir: DataDir = None,
    offline: Offline = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Train, save, and print how to use the model."""
    from target_bench.cli.command_line import TerminalObserver
    from target_bench.models.training.fine_tuning import Settings, train
    from target_bench.models.training.training_loop import Course
    from target_bench.models.training.training_splits import Data

    settings = Settings(
        base,
        negatives,
        n_negatives,
        max_tokens,
        cast("tuple[Field, ...]", tuple(name.strip() for name in fields.split(","))),
        _rows(rows),
        format,
        Course(epochs, batch_size, lr, seed),
        cast("Kind", context.info_name),
    )
    data = Data(
        corpora or (),
        split,
        validation_split,
        keep_out,
        shared_tables,
        strict,
        limit,
        data_dir,
    )
    with TerminalObserver() as observer:
        trained = train(data, output, settings, observer)
    if as_json:
        json.dump(asdict(trained), sys.stdout, ensure_ascii=False, indent=2, default=str)
        sys.stdout.write("\n")
    else:
        typer.echo(_told(trained, output, settings))


for _kind, _help in HELPS.items():
    app.command(_kind, help=_help)(_train)


def _rows(text: str) -> RowLimit:
    named: dict[str, RowLimit] = {"all": "all", "auto": "auto"}
    if text in named:
        return named[text]
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"--rows {text}: expected a number from 0, all or auto") from None


def _told(trained: "Trained", output: Path, settings: "Settings") -> str:
    losses = ", ".join(f"{loss:.4f}" for loss in trained.losses)
    lines = [f"{trained.pairs:,} pairs; mean loss of each epoch: {losses}"]
    for epoch, scores in enumerate(trained.validation):
        shown = ", ".join(f"{name} {value:.3f}" for name, value in scores.items())
        kept = " (kept)" if epoch == trained.epoch else ""
        lines.append(f"validation after epoch {epoch}: {shown}{kept}")
    lines += ["use it as:", f"  {_spec(output, settings)}"]
    return "\n".join(lines)


def _spec(output: Path, settings: "Settings") -> str:
    """Return the retriever on the command line, with this model and tables as in training."""
    from target_bench.models.training.fine_tuning import Settings as Defaults

    own = settings.writing
    default = Defaults().writing
    changed = {name: value for name, value in own.items() if value != default[name]}
    if "fields" in changed:
        changed["fields"] = f"[{','.join(own['fields'])}]"
    model = {
        "dense": f"encoder='sentence-transformers:model={output}'",
        "late-interaction": f"model={output}",
        "reranker": f"retriever='{settings.negatives}',model={output}",
    }[settings.kind]
    options = ",".join([model, *(f"{name}={value}" for name, value in changed.items())])
    return f'--retriever "{settings.model_kind.retriever}:{options}"'
