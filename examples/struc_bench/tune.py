r"""Tune a language model with LoRA to write tables as instructed, as Struc-Bench does.

    python -m examples.struc_bench.tune data/rotowire/table_train.json --keep-out rotowire:test \
        --base meta-llama/Llama-3.2-1B -o models/tables
    target-bench run rotowire --task text-to-table --prompt examples/struc_bench/alpaca.yaml \
        --generator "transformers:model=meta-llama/Llama-3.2-1B,adapter=models/tables"

Needs: pip install 'target-bench[train]'. Records have ``instruction``, ``input`` and ``output``, as
``examples.struc_bench.instructions`` writes them. Those that ask what a kept-out split asks, or
whose tables are among its tables or reference answers, are left out and counted.

Defaults are those of the authors' finetune.py (Tang et al. 2024), which tunes LLaMA-7B in 8 bits:
LoRA of rank 8 on q_proj and v_proj, alpha 16, dropout .05, 3 epochs, batches of 128, AdamW without
weight decay, 3e-4 after 100 steps of warm-up, Alpaca's template, 2,000 tokens. 2,000 records drawn
at random are held back; of the checkpoints, one each 200 steps, the one with the least loss on them
is saved. Different here: the loss is over the tokens of the answer (``--prompts-too`` for all), a
longer record is left out and not cut, and at most a tenth of the records is held back.
"""

import argparse
import json
import random
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from examples.training import overlap
from target_bench import ConfigError, DataError, Query, RunConfig, load
from target_bench.core import registry
from target_bench.data.tables import MemoryCorpus
from target_bench.models.chat_prompts import token_ids
from target_bench.models.prompts.prompting import make_prompt_writer
from target_bench.tables.answer_tables import FORMATS, TableFormat
from target_bench.tables.reading import read_tables
from target_bench.tables.text_table_lines import as_table

PROMPT = Path(__file__).with_name("alpaca.yaml")


def main(arguments: Sequence[str] | None = None) -> None:
    """Read, leave out, train, save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path, help="JSON lists of records")
    parser.add_argument("--keep-out", action="append", default=[], metavar="CORPUS:SPLIT")
    parser.add_argument("--base", required=True, help="a folder or a name on the hub")
    parser.add_argument("--prompt", type=Path, default=PROMPT, help="as for `run`")
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--alpha", type=int, default=16)
    parser.add_argument("--dropout", type=float, default=0.05)
    parser.add_argument("--targets", default="q_proj,v_proj", help="linear layers with an adapter")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--at-once", type=int, default=4, help="records in memory at a time")
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--weight-decay", type=float, default=0.0)
    parser.add_argument("--validation", type=int, help="records held back; 0 for none")
    parser.add_argument("--evaluate-every", type=int, default=200, help="steps")
    parser.add_argument("--max-tokens", type=int, default=2000)
    parser.add_argument("--prompts-too", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    if options.output.exists() and any(options.output.iterdir()):
        raise ConfigError(f"-o {options.output}: holds something already")
    records = [record for path in options.files for record in read_records(path)]
    scored = [load(*named.rpartition(":")[::2]) for named in options.keep_out]
    met = [overlap.met(exposed) for exposed in scored]
    questions = frozenset[str]().union(*(exposed.questions for exposed in met))
    tables = frozenset[str]().union(*(exposed.tables for exposed in met))
    tables |= {
        content
        for dataset in scored
        for query in dataset.queries
        for content in _contents(query.references[:1], query.metadata.get("format", "text"))
    }
    kept = [
        record
        for record in records
        if overlap.words_hash(record["input"]) not in questions
        and tables.isdisjoint(_contents([record["output"]], record["format"]))
    ]
    print(f"{len(kept):,} records; {len(records) - len(kept):,} overlap with what is kept out")
    _train(options, kept)


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a file, each with the ``format`` of its tables.

    The format is its own entry ``format``, or the first word of the file's name.

    Raises:
        DataError: the file is no list of records with these texts.
    """
    try:
        records = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as JSON: {error}") from error
    if not isinstance(records, list) or not records:
        raise DataError(f"{path}: expected a list of objects with instruction, input and output")
    named = path.stem.partition("_")[0]
    for number, record in enumerate(records):
        for name in ("instruction", "input", "output"):
            if not isinstance(record, dict) or not isinstance(record.get(name), str):
                raise DataError(f"{path}, record {number}: field {name!r}: expected a text")
        filled = {"format": named if named in FORMATS else "text", **record}
        if not _contents([filled["output"]], filled["format"]):
            raise DataError(f"{path}, record {number}: 'output' holds no table")
        yield filled


def _contents(outputs: Iterable[str], table_format: TableFormat) -> frozenset[str]:
    """Return hashes of the tables of outputs, equal to those of the same tables of a corpus."""
    tables = [t for text in outputs for t in read_tables(text, table_format).tables if t.width]
    corpus = MemoryCorpus([as_table(str(i), table, {}) for i, table in enumerate(tables)])
    return frozenset(digest.content.hex() for digest in corpus.digests)


def _train(options: argparse.Namespace, records: list[dict[str, Any]]) -> None:
    """Train and save an adapter on the records that are short enough."""
    import torch
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import AutoTokenizer
    from trl import SFTConfig, SFTTrainer

    tokenizer = AutoTokenizer.from_pretrained(options.base)
    writer = make_prompt_writer(
        registry.create("task", "text_to_table"), RunConfig(prompt=options.prompt), {}, False
    )
    rows, kept = [], []
    for record in records:
        texts = (record["input"], record["instruction"])
        text, instruction = texts if record["input"] else (record["instruction"], "")
        metadata = {"format": record["format"], "instruction": instruction}
        query = Query("0", text, gold=(), metadata=metadata)
        prompt = token_ids(tokenizer, writer.write_prompt(query, ()).request.messages)
        before = "" if tokenizer.chat_template is not None else "\n"
        answer = tokenizer(before + record["output"], add_special_tokens=False)["input_ids"]
        ids = [*prompt, *answer, tokenizer.eos_token_id]
        if len(ids) <= options.max_tokens:
            mask = [0] * len(prompt) + [1] * (len(ids) - len(prompt))
            rows.append({"input_ids": ids, "completion_mask": mask})
            kept.append(record)
    if not rows:
        raise ConfigError(f"all {len(records):,} records have over {options.max_tokens:,} tokens")
    print(f"{len(rows):,} records, {len(records) - len(rows):,} are too long")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    n_held_back = min(2000, len(rows) // 10) if options.validation is None else options.validation
    if n_held_back >= len(rows):
        raise ConfigError(f"--validation {n_held_back:,}: there are {len(rows):,} records")
    random.Random(options.seed).shuffle(rows)
    held_back, rows = rows[:n_held_back], rows[n_held_back:]
    print(f"{len(rows):,} records to train on, {len(held_back):,} to choose a checkpoint by")
    at_once = min(options.at_once, options.batch_size)
    steps = -(-len(rows) // options.batch_size) * options.epochs
    apart = min(options.evaluate_every, steps)
    choosing: dict[str, Any] = {
        "eval_strategy": "steps",
        "save_strategy": "steps",
        "eval_steps": apart,
        "save_steps": apart,
        "per_device_eval_batch_size": at_once,
        "load_best_model_at_end": True,
        "metric_for_best_model": "loss",
        "save_total_limit": 3,
    }
    with tempfile.TemporaryDirectory() as checkpoints:
        trainer = SFTTrainer(
            model=options.base,
            processing_class=tokenizer,
            train_dataset=Dataset.from_list(rows),
            eval_dataset=Dataset.from_list(held_back) if held_back else None,
            peft_config=LoraConfig(
                r=options.rank,
                lora_alpha=options.alpha,
                lora_dropout=options.dropout,
                target_modules=options.targets.split(","),
                bias="none",
                task_type="CAUSAL_LM",
            ),
            args=SFTConfig(
                output_dir=checkpoints,
                num_train_epochs=options.epochs,
                per_device_train_batch_size=at_once,
                gradient_accumulation_steps=max(1, options.batch_size // at_once),
                learning_rate=options.lr,
                weight_decay=options.weight_decay,
                warmup_steps=min(100, steps // 10),
                max_length=None,
                completion_only_loss=not options.prompts_too,
                seed=options.seed,
                report_to="none",
                gradient_checkpointing=False,
                bf16=torch.cuda.is_available() and torch.cuda.is_bf16_supported(),
                dataloader_pin_memory=torch.cuda.is_available(),
                **(choosing if held_back else {"save_strategy": "no"}),
            ),
        )
        trainer.train()
    if held_back:
        losses = {e["step"]: e["eval_loss"] for e in trainer.state.log_history if "eval_loss" in e}
        best = min(losses, key=losses.__getitem__)
        print(f"step {best:,} of {steps:,} has the least loss on them, {losses[best]:.4f}")
    trainer.model.save_pretrained(str(options.output))


if __name__ == "__main__":
    main()
