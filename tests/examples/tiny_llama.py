"""A small model of LLaMA's architecture with random weights, and texts that become tables."""

import json
from pathlib import Path
from typing import Any

MARKS = ["<unk>", "<s>", "</s>"]
WORDS = ["ann", "bob", "cid", "dan", "eve", "fay", "guy", "hal"]
NUMBERS = ["3", "5", "7", "8"]


def write_llama(folder: Path, width: int = 48) -> Path:
    """Write model and tokenizer: words and single marks, each a token."""
    import torch
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from tokenizers.decoders import Fuse
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    known = [*MARKS, *WORDS, *NUMBERS, *"|:-.,\n", " ", "name", "points", "made", "Text"]
    words = Tokenizer(models.WordLevel({w: i for i, w in enumerate(known)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Split(Regex(r"\w+|.|\n"), "isolated")
    words.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 1)])
    words.decoder = Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(5)
    config = LlamaConfig(
        vocab_size=len(known),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=512,
        initializer_range=0.3,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=None,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def record(name: str, number: str) -> dict[str, str]:
    """What a person made, as a text and as a table."""
    return {
        "instruction": "name, points",
        "input": f"{name} made {number} points.",
        "output": f"|name|points|\n|-|-|\n|{name}|{number}|",
    }


def records() -> list[dict[str, Any]]:
    """All persons with all numbers."""
    return [record(name, number) for name in WORDS for number in NUMBERS]


def write_records(path: Path, some: Any) -> Path:
    """Write a JSON list."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(some, indent=1), encoding="utf-8")
    return path
