"""Structure-aware instruction tuning: a language model learns to write tables as it is instructed.

Struc-Bench (Tang et al. 2024, arXiv:2309.08963, section 3) tunes LLaMA-7B with LoRA on
instruction, input and output, the instructions being those of FormatCoT. Prompts are the task's
own, as runs send them; base, adapter and course are settings, with the defaults of the authors'
script.
"""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from target_bench.core import registry
from target_bench.core.errors import ConfigError, MissingExtraError, StoreError, TargetBenchError
from target_bench.core.identity import plugin_identity
from target_bench.core.local_models import no_loading_bar
from target_bench.core.observer import Observer
from target_bench.core.prompt_writer import PromptOptions, PromptWriter
from target_bench.core.registry import installed_version
from target_bench.core.version import __version__
from target_bench.models.chat_prompts import token_ids
from target_bench.models.instruction_tuning import adapter_loop, tuning_examples
from target_bench.models.instruction_tuning.adapter_loop import Tokens, Tuning
from target_bench.models.instruction_tuning.tuning_examples import Example, Examples
from target_bench.models.lora_adapters import Lora, enough_memory, with_adapter
from target_bench.models.prompts.prompting import writer_of
from target_bench.models.training import model_folder, training_loop, training_record
from target_bench.models.training.training_splits import Data

_PACKAGES = ("peft", "torch", "transformers")


@dataclass(frozen=True, slots=True)
class Settings:
    """What is tuned, and how.

    Args:
        base: the generator to begin with: ``transformers:model=...``, or any other that has
            ``trainable()``.
        prompt: a YAML file with prompts, as for ``run``; None for the task's own.
        lora: the shape of the adapter.
        tuning: epochs, batch size, learning rate, seed and limits.
    """

    base: str
    prompt: Path | None = None
    lora: Lora = field(default_factory=Lora)
    tuning: Tuning = field(default_factory=Tuning)


@dataclass(frozen=True, slots=True)
class Tuned:
    """An adapter that was trained.

    Attributes:
        folder: where it lies.
        examples: how many it was trained on.
        too_long: how many were left out because they have too many tokens.
        losses: the mean loss of a token in each epoch.
        weights: trained weights, and all weights.
        left_out: which examples were left out, in a sentence for each source.
    """

    folder: Path
    examples: int
    too_long: int
    losses: tuple[float, ...]
    weights: tuple[int, int]
    left_out: tuple[str, ...]


def tune(
    data: Data,
    folder: str | Path,
    settings: Settings,
    files: Sequence[Path] = (),
    observer: Observer | None = None,
) -> Tuned:
    """Train an adapter on texts and their tables, and save it.

    The same data, settings, versions and machine give the same weights on a CPU.

    Args:
        data: corpora to train on, perhaps none, and what is kept out.
        folder: where the adapter goes; it must not be there, or be empty.
        settings: what is tuned, and how.
        files: records of instruction, input and output.
        observer: is notified of progress and of what was left out.

    Raises:
        MissingExtraError: PEFT, PyTorch or Transformers is not installed.
        ConfigError: an invalid corpus, split, model, target or setting, no example that is left,
            overlap in mode ``strict``, or too little memory.
        DataError: files are missing or broken.
        StoreError: the folder cannot be written.
    """
    observer = observer or Observer()
    for package in _PACKAGES:
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(package, "train", "train struct")
    with model_folder.whole(Path(folder)) as half:
        base = _base(settings)
        task = tuning_examples.task_of_tables()
        writer = writer_of(task, PromptOptions(prompt=settings.prompt), {}, False)
        examples = tuning_examples.load(data, files, task, observer)
        observer.stage("load the base")
        model, tokenizer, content = _loaded(base, settings)
        with training_loop.seeded(model, settings.tuning.course.seed):
            model = with_adapter(model, settings.lora)
        read, kept = _read(examples, writer, tokenizer, model, settings, observer)
        losses = adapter_loop.fit(model, read, _pad(tokenizer), settings.tuning, observer)
        observer.stage("save the adapter")
        n_too_long = len(examples.kept) - len(kept)
        about = {
            "kind": "adapter",
            "base": plugin_identity(base)[0],
            "weights": content,
            "data": _data(data, examples, n_too_long),
            "prompt": dict(writer.identity),
            "settings": _plain(settings),
            "losses": [round(value, 6) for value in losses],
            "examples": len(kept),
            "packages": {name: installed_version(name) for name in _PACKAGES},
            "target_bench": __version__,
        }
        _save(model, half, about, kept)
    place = Path(folder).expanduser().absolute()
    return Tuned(place, len(kept), n_too_long, tuple(losses), _sizes(model), examples.left_out)


def _base(settings: Settings) -> Any:
    """Return the generator to begin with."""
    base: Any = registry.part("generator", settings.base)
    if not callable(getattr(base, "trainable", None)):
        raise ConfigError(
            f"base={settings.base}: {type(base).__name__} cannot be trained; name "
            "transformers:model=path/or/name"
        )
    return base


def _loaded(base: Any, settings: Settings) -> tuple[Any, Any, Mapping[str, Any]]:
    """Return model, tokenizer, and what identifies the model's weights."""
    with enough_memory(f"base={settings.base}"):
        model, tokenizer, content = base.trainable()
    if tokenizer.eos_token_id is None:
        raise ConfigError(f"base={settings.base}: its tokenizer has no token that ends an answer")
    return model, tokenizer, content


def _read(
    examples: Examples,
    writer: PromptWriter,
    tokenizer: Any,
    model: Any,
    settings: Settings,
    observer: Observer,
) -> tuple[list[Tokens], list[Example]]:
    """Return the examples that are short enough, as tokens and as they are."""
    limit = settings.tuning.max_tokens
    declared = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    limit = min(limit, declared) if isinstance(declared, int) else limit
    pairs = [(tokens_of(example, writer, tokenizer), example) for example in examples.kept]
    kept = [(tokens, example) for tokens, example in pairs if len(tokens.ids) <= limit]
    n_long = len(pairs) - len(kept)
    if not kept:
        shortest = min(len(tokens.ids) for tokens, _ in pairs)
        raise ConfigError(
            f"all {n_long:,} examples have more than {limit:,} tokens (the shortest has "
            f"{shortest:,}): set a higher --max-tokens, or a base that reads more"
        )
    if n_long:
        observer.warning(
            f"{n_long:,} of {len(pairs):,} examples have more than {limit:,} tokens and are left "
            "out; --max-tokens allows more, as far as the base does"
        )
    return [tokens for tokens, _ in kept], [example for _, example in kept]


def tokens_of(example: Example, writer: PromptWriter, tokenizer: Any) -> Tokens:
    """Return the prompt as a run sends it, then the answer and the token that ends it."""
    prompt = token_ids(tokenizer, writer.prompted(example.query, ()).request.messages)
    before = "" if tokenizer.chat_template is not None else "\n\n"
    said = tokenizer(before + example.output, add_special_tokens=False, truncation=False)
    return Tokens([*prompt, *said["input_ids"], tokenizer.eos_token_id], len(prompt))


def _pad(tokenizer: Any) -> int:
    found = tokenizer.pad_token_id
    return int(tokenizer.eos_token_id if found is None else found)


def _sizes(model: Any) -> tuple[int, int]:
    trained, whole = model.get_nb_trainable_parameters()
    return int(trained), int(whole)


def _data(data: Data, examples: Examples, n_too_long: int) -> dict[str, Any]:
    return {
        "train": list(examples.sources),
        "kept_out": list(examples.kept_out),
        "left_out": list(examples.left_out),
        "too_long": n_too_long,
        "shared_tables": data.shared_tables,
        "limit": data.limit,
    }


def _plain(settings: Settings) -> dict[str, Any]:
    """Return the settings of adapter and course as JSON; the base stands elsewhere."""
    tuning = asdict(settings.tuning)
    lora = {**asdict(settings.lora), "targets": list(settings.lora.targets)}
    return {**tuning.pop("course"), **tuning, "lora": lora}


def _save(model: Any, folder: Path, about: Mapping[str, Any], examples: Sequence[Example]) -> None:
    model.peft_config["default"].base_model_name_or_path = None  # the record names the base
    try:
        with no_loading_bar():
            model.save_pretrained(str(folder))
        (folder / "README.md").unlink(missing_ok=True)  # a card without content
        uses = [used for example in examples for used in example.used]
        training_record.write(folder, about, uses)
    except TargetBenchError:
        raise
    except OSError as error:
        raise StoreError(f"{folder.parent}: the adapter cannot be written ({error})") from error
