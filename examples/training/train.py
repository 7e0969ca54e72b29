r"""Fine-tune the model of a retriever on questions and gold tables, with sentence-transformers.

    python -m examples.training.train dense --corpus fetaqa --keep-out fetaqa:test \
        --keep-out fetaqa:validation -o models/encoder
    target-bench run fetaqa --retriever "dense:encoder='sentence-transformers:model=models/encoder'"

    python -m examples.training.train reranker --corpus fetaqa --keep-out fetaqa:test -o models/ce
    target-bench run fetaqa --retriever rerank:model=models/ce

Needs: pip install 'target-bench[train,dense]'. Each question has to find its table among those of
its batch and the hard negatives (multiple negatives ranking loss, Henderson et al. 2017). With
``--validation-split`` the epoch with the best MRR on it is kept (dense).
"""

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from examples.training.pairs import training_pairs
from target_bench import ConfigError, Serializer, load
from target_bench.models.encoders.sentence_transformers import minilm_model


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, save, and print what to run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("kind", choices=("dense", "reranker"))
    parser.add_argument("--corpus", action="append", required=True, help="name or path; repeatable")
    parser.add_argument("--split", default="train")
    parser.add_argument("--keep-out", action="append", required=True, metavar="CORPUS:SPLIT")
    parser.add_argument("--shared-tables", action="store_true")
    parser.add_argument("--validation-split")
    parser.add_argument("--base", default="minilm", help="a folder or a name on the hub")
    parser.add_argument("--negatives", default="bm25", help="a retriever that finds hard negatives")
    parser.add_argument("--n-negatives", type=int, default=1)
    parser.add_argument("--fields", default="title,section,header,rows")
    parser.add_argument("--rows", default="auto", help="of each table: a number, auto or all")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-5)
    parser.add_argument("--max-tokens", type=int)
    parser.add_argument("--limit", type=int, help="only the first questions of each corpus")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    if options.output.exists() and any(options.output.iterdir()):
        raise ConfigError(f"-o {options.output}: holds something already")
    rows: Any = int(options.rows) if options.rows.isdigit() else options.rows
    write = Serializer(fields=options.fields.split(","), rows=rows)
    kept_out = list(options.keep_out)
    if options.validation_split:
        kept_out += [f"{corpus}:{options.validation_split}" for corpus in options.corpus]
    pairs = training_pairs(
        options.corpus,
        options.split,
        kept_out,
        write,
        negatives=options.negatives,
        n_negatives=options.n_negatives,
        shared_tables=options.shared_tables,
        limit=options.limit,
        seed=options.seed,
    )
    print(f"{len(pairs.rows):,} pairs; {pairs.left_out:,} questions are left out")
    _train(options, pairs.rows, write)
    how = {
        "dense": "dense:encoder='sentence-transformers:model={}'",
        "reranker": "rerank:model={}",
    }[options.kind].format(options.output)
    is_default = (options.fields, options.rows) == (parser.get_default("fields"), "auto")
    settings = "" if is_default else f",fields=[{options.fields}],rows={options.rows}"
    print(f'target-bench run {options.corpus[0]} --retriever "{how}{settings}"')


def _train(options: argparse.Namespace, rows: list[dict[str, str]], write: Serializer) -> None:
    import sentence_transformers as st
    import torch
    from datasets import Dataset
    from sentence_transformers.base.sampler import BatchSamplers
    from sentence_transformers.cross_encoder import losses as cross_losses
    from sentence_transformers.sentence_transformer import losses

    base = minilm_model() if options.base == "minilm" else options.base
    torch.manual_seed(options.seed)  # of layers that a base does not have
    # Weights stored in 16 bits are trained in 32: AdamW's sums of squares vanish in float16, and
    # the model comes out as noise without an error.
    loading: dict[str, Any] = {"model_kwargs": {"dtype": torch.float32}}
    if options.kind == "dense":
        model: Any = st.SentenceTransformer(base, **loading)
        loss: Any = losses.MultipleNegativesRankingLoss(model)
        trainer, settings = st.SentenceTransformerTrainer, st.SentenceTransformerTrainingArguments
    else:
        if options.validation_split:
            raise ConfigError("--validation-split: rerankers are trained without one here")
        model = st.CrossEncoder(base, num_labels=1, **loading)
        loss = cross_losses.MultipleNegativesRankingLoss(
            model, scale=1, activation_fn=torch.nn.Identity()
        )
        trainer, settings = st.CrossEncoderTrainer, st.CrossEncoderTrainingArguments
    if options.max_tokens:
        model.max_seq_length = options.max_tokens
    chosen: dict[str, Any] = {"save_strategy": "no"}
    judged = None
    if options.validation_split:
        judged = _validation(options, write)
        chosen = {
            "eval_strategy": "epoch",
            "save_strategy": "epoch",
            "save_total_limit": 1,
            "load_best_model_at_end": True,
            "metric_for_best_model": "eval_validation_cosine_mrr@10",
        }
    arguments = settings(
        output_dir=str(options.output / "checkpoints"),
        num_train_epochs=options.epochs,
        per_device_train_batch_size=options.batch_size,
        learning_rate=options.lr,
        warmup_steps=0.1,
        batch_sampler=BatchSamplers.NO_DUPLICATES,
        seed=options.seed,
        report_to="none",
        bf16=torch.cuda.is_available() and torch.cuda.is_bf16_supported(),
        dataloader_pin_memory=torch.cuda.is_available(),
        **chosen,
    )
    trainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_list(rows),
        loss=loss,
        **({} if judged is None else {"evaluator": judged}),
    ).train()
    model.save_pretrained(str(options.output), create_model_card=False)
    shutil.rmtree(options.output / "checkpoints", ignore_errors=True)


def _validation(options: argparse.Namespace, write: Serializer) -> Any:
    """Return what measures recall and MRR among the tables of the validation splits."""
    from sentence_transformers.sentence_transformer.evaluation import (
        InformationRetrievalEvaluator,
    )

    datasets = [load(corpus, options.validation_split) for corpus in options.corpus]
    queries = {f"{i} {q.id}": q for i, dataset in enumerate(datasets) for q in dataset.queries}
    return InformationRetrievalEvaluator(
        {name: query.text for name, query in queries.items()},
        {f"{i} {t.id}": write(t) for i, dataset in enumerate(datasets) for t in dataset.corpus},
        {name: {f"{name.split()[0]} {t}" for t in query.gold} for name, query in queries.items()},
        name="validation",
        show_progress_bar=False,
    )


if __name__ == "__main__":
    main()
