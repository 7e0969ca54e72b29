"""``target-bench train instructions`` and ``struct``: models that write tables as instructed."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from target_bench.cli.command_line import AsJson, Corpora, DataDir, Debug, Offline, Yes
from target_bench.core.schema import GenerationRequest

if TYPE_CHECKING:
    from target_bench.models.instruction_tuning.instruction_building import Built
    from target_bench.models.instruction_tuning.struct_tuning import Settings, Tuned

INSTRUCTIONS_HELP = """Write what a model is tuned on: instruction, input, output (Struc-Bench).

`target-bench train instructions rotowire -o data/rotowire` describes the format of every target
table of the train split, by rules or, with --generator, by a language model (FormatCoT), and writes
a JSON list for each format.
"""
STRUCT_HELP = """Tune a language model with LoRA to write tables as it is instructed (needs: train).

`target-bench train struct --instructions data/rotowire/table_train.json --keep-out rotowire:test
--base transformers:model=NAME -o models/tables` leaves out what test asks, trains an adapter, and
prints the generator to run.
"""

Output = Annotated[
    Path, typer.Option("--output", "-o", help="Where it goes: a new or empty folder.")
]


def add_to(app: typer.Typer) -> None:
    """Add both commands to their group."""
    app.command("instructions", help=INSTRUCTIONS_HELP)(instructions)
    app.command("struct", help=STRUCT_HELP)(struct)


def instructions(
    corpus: Annotated[
        str, typer.Argument(help="A corpus that is answered with tables, or a path.")
    ],
    output: Output,
    split: Annotated[str, typer.Option("--split", help="The split to write.")] = "train",
    generator: Annotated[
        str | None,
        typer.Option(
            help="Generator that describes the tables. Default: rules.", show_default=False
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", help="Only the first queries of the split.")
    ] = None,
    yes: Yes = False,
    data_dir: DataDir = None,
    offline: Offline = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Describe the tables of a split, and write the files."""
    from target_bench.cli.command_line import TerminalObserver
    from target_bench.cli.output import ask_for_consent
    from target_bench.core.settings import masked_settings
    from target_bench.core.tokens import estimated_tokens
    from target_bench.harness.stages.consent import Estimate
    from target_bench.models.instruction_tuning.instruction_building import build

    def consent(writer: Any, requests: Sequence[GenerationRequest]) -> None:
        n_tokens = sum(estimated_tokens(request.messages) for request in requests)
        estimated = getattr(writer, "estimated_cost", None)
        cost = estimated(len(requests), n_tokens) if estimated else None
        ask_for_consent(writer, Estimate(label, len(requests), n_tokens, cost), yes)

    label = masked_settings(generator or "")
    with TerminalObserver() as observer:
        built = build(corpus, output, split, generator, limit, data_dir, observer, consent)
    _print(asdict(built) if as_json else _files(built))


def struct(
    output: Output,
    base: Annotated[
        str, typer.Option(help="The generator to begin with: transformers:model=NAME.")
    ],
    corpora: Corpora = None,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--instructions",
            help="A file of instruction, input, output to train on; may be repeated.",
            show_default=False,
        ),
    ] = None,
    split: Annotated[str, typer.Option("--split", help="The split of corpora.")] = "train",
    keep_out: Annotated[
        list[str] | None,
        typer.Option(
            "--keep-out",
            help="A split that will be scored, as in rotowire:test; may be repeated. Default: each "
            "corpus's default split and its validation.",
            show_default=False,
        ),
    ] = None,
    shared_tables: Annotated[
        bool,
        typer.Option("--shared-tables", help="Train on tables of kept-out splits too."),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse to train where examples overlap.")
    ] = False,
    prompt: Annotated[
        Path | None, typer.Option(help="A YAML file with prompts, as for run.", show_default=False)
    ] = None,
    epochs: Annotated[int, typer.Option(help="How often every example is seen.")] = 3,
    batch_size: Annotated[int, typer.Option(help="Examples a step.")] = 128,
    at_once: Annotated[int, typer.Option(help="Examples in memory at a time.")] = 4,
    max_tokens: Annotated[
        int, typer.Option(help="Of prompt and answer; longer examples are left out.")
    ] = 2000,
    lr: Annotated[float, typer.Option(help="The learning rate after the warm-up.")] = 3e-4,
    seed: Annotated[int, typer.Option(help="Of adapter, order of examples and dropout.")] = 0,
    rank: Annotated[int, typer.Option(help="Of the adapter's matrices.")] = 8,
    alpha: Annotated[int, typer.Option(help="The adapter is scaled by alpha / rank.")] = 16,
    dropout: Annotated[float, typer.Option(help="Of the adapter's inputs.")] = 0.05,
    targets: Annotated[
        str, typer.Option(help="Names of the linear layers that get an adapter.")
    ] = "q_proj,v_proj",
    prompts_too: Annotated[
        bool, typer.Option("--prompts-too", help="Tokens of the prompt count in the loss too.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", help="Only the first examples of each source.")
    ] = None,
    data_dir: DataDir = None,
    offline: Offline = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Train, save, and print how to use the adapter."""
    from target_bench.cli.command_line import TerminalObserver
    from target_bench.models.instruction_tuning.adapter_loop import Tuning
    from target_bench.models.instruction_tuning.struct_tuning import Settings, tune
    from target_bench.models.lora_adapters import Lora
    from target_bench.models.training.training_loop import Course
    from target_bench.models.training.training_splits import Data

    names = tuple(name.strip() for name in targets.split(",") if name.strip())
    course = Course(epochs, batch_size, lr, seed)
    settings = Settings(
        base,
        prompt,
        Lora(rank, alpha, dropout, names),
        Tuning(course, at_once, max_tokens, prompts_too),
    )
    data = Data(corpora or (), split, None, keep_out, shared_tables, strict, limit, data_dir)
    with TerminalObserver() as observer:
        tuned = tune(data, output, settings, files or (), observer)
    _print(asdict(tuned) if as_json else _adapter(tuned, output, settings))


def _print(found: dict[str, Any] | str) -> None:
    if isinstance(found, str):
        typer.echo(found)
        return
    json.dump(found, sys.stdout, ensure_ascii=False, indent=2, default=str)
    sys.stdout.write("\n")


def _files(built: "Built") -> str:
    n_records = sum(built.files.values())
    lines = [f"{n_records:,} records, {built.by_generator:,} instructions by the generator:"]
    lines += [f"  {built.folder / name}: {n:,}" for name, n in built.files.items()]
    return "\n".join(lines)


def _adapter(tuned: "Tuned", output: Path, settings: "Settings") -> str:
    losses = ", ".join(f"{loss:.4f}" for loss in tuned.losses)
    trained, whole = tuned.weights
    joint = "," if ":" in settings.base else ":"
    return "\n".join(
        [
            f"{tuned.examples:,} examples, {trained:,} of {whole:,} weights trained; mean loss of "
            f"a token in each epoch: {losses}",
            "use it as:",
            f'  --generator "{settings.base}{joint}adapter={output}"',
        ]
    )
