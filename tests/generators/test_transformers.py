"""Local language models: batches, templates, exact counts, nothing cut; on a tiny random model."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import ConfigError
from target_bench.core.identity import plugin_identity
from target_bench.core.observer import Observer
from target_bench.core.schema import Generation, GenerationRequest, Message
from target_bench.generators.transformers import Transformers
from target_bench.testing import check_generator

pytest.importorskip("torch")
pytest.importorskip("transformers")

WORDS = ["w60", "<s>", "</s>", "<unk>", *(f"w{i}" for i in range(60))]
CONTEXT = 64
CHATML = (
    "{% for m in messages %}w1 {{ m.role[0:1] }} {{ m.content }} {% endfor %}"
    "{% if add_generation_prompt %}w2{% if thinking is false %} w3{% endif %}{% endif %}"
)
NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "{% for m in messages %}{{ m.content }} {% endfor %}"
)


@pytest.fixture(scope="module", autouse=True)
def _offline_and_alone() -> Iterator[None]:
    """Nothing is fetched, and tiny tensors are not handed from thread to thread."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with random weights and a tokenizer of 60 words that begins a text with <s>."""
    return _write(tmp_path_factory.mktemp("models") / "tiny")


def _write(
    folder: Path, template: str | None = None, context: int = CONTEXT, **generation: Any
) -> Path:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    _write_tokenizer(folder, template)
    torch.manual_seed(7)
    config = LlamaConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        initializer_range=0.5,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=None,
    )
    model = LlamaForCausalLM(config)
    for name, value in generation.items():
        setattr(model.generation_config, name, value)
    model.save_pretrained(folder)
    return folder


def _write_tokenizer(folder: Path, template: str | None = None) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 1)])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)


def _request(n_words: int, query_id: str = "q") -> GenerationRequest:
    text = " ".join(f"w{(i * i + n_words) % 60}" for i in range(n_words))
    return GenerationRequest(query_id, "qa", (Message("user", text),), text)


def _many(generator: Transformers, requests: Sequence[GenerationRequest]) -> dict[str, Generation]:
    return {g.query_id: g for g in generator.generate_many(iter(requests), Observer())}


@cache
def _plainly_loaded(folder: Path) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    return model, AutoTokenizer.from_pretrained(folder)


@cache
def _greedy(folder: Path, prompt: str, n: int) -> list[int]:
    """What the model says, one token at a time, without ``generate``, batches or padding."""
    import torch

    model, tokenizer = _plainly_loaded(folder)
    ids = tokenizer(prompt)["input_ids"]
    answer: list[int] = []
    with torch.inference_mode():
        while len(answer) < n and answer[-1:] != [2]:
            logits = model(torch.tensor([ids + answer])).logits
            answer.append(int(logits[0, -1].argmax()))
    return answer


def test_batches_of_any_size_give_the_greedy_answers_and_exact_counts(folder: Path) -> None:
    requests = [_request(1 + 7 * i % 40, f"q{i}") for i in range(11)]
    for batch_size in (1, 4, 11):
        generator = Transformers(str(folder), device="cpu", batch_size=batch_size, max_new_tokens=9)
        answers = _many(generator, requests)
        for request in requests:
            expected = _greedy(folder, request.messages[0].content, 9)
            answer = answers[request.query_id]
            assert answer.error is None
            assert answer.text == " ".join(WORDS[i] for i in expected if i not in (1, 2, 3))
            assert answer.input_tokens == 1 + len(request.query.split())
            assert answer.output_tokens == len(expected)
            assert answer.seconds is not None
    assert len({answer.text for answer in answers.values()}) > 5
    assert len({answer.output_tokens for answer in answers.values()}) > 1


def _write_encoder_decoder(folder: Path, kind: str) -> Path:
    """T5, with places relative to each other, or BART, which counts them from the left."""
    import torch
    from transformers import (
        BartConfig,
        BartForConditionalGeneration,
        T5Config,
        T5ForConditionalGeneration,
    )

    _write_tokenizer(folder)
    tokens = {"vocab_size": len(WORDS), "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 3}
    torch.manual_seed(7)
    model: Any
    if kind == "t5":
        config = T5Config(
            d_model=32, d_ff=48, d_kv=8, num_layers=2, num_heads=4, initializer_factor=3.0, **tokens
        )
        config.decoder_start_token_id = 3
        model = T5ForConditionalGeneration(config)
    else:
        sizes = {f"{side}_layers": 2 for side in ("encoder", "decoder")}
        sizes |= {f"{side}_attention_heads": 4 for side in ("encoder", "decoder")}
        sizes |= {f"{side}_ffn_dim": 48 for side in ("encoder", "decoder")}
        model = BartForConditionalGeneration(
            BartConfig(d_model=32, max_position_embeddings=CONTEXT, init_std=0.5, **sizes, **tokens)
        )
    model.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_encoders_with_decoders(kind: str, tmp_path: Path) -> None:
    """Answers of padded batches are the likeliest tokens of each prompt alone."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    folder = _write_encoder_decoder(tmp_path / kind, kind)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    requests = [_request(1 + 7 * i % 40, f"q{i}") for i in range(11)]
    for batch_size in (1, 4):
        generator = Transformers(str(folder), device="cpu", batch_size=batch_size, max_new_tokens=9)
        answers = _many(generator, requests)
        for request in requests:
            ids = torch.tensor([tokenizer(request.messages[0].content)["input_ids"]])
            tokens = [model.config.decoder_start_token_id]
            with torch.inference_mode():
                # BART's decoder starts with the token that ends an answer.
                while (len(tokens) <= 9 and tokens[-1] != 2) or len(tokens) == 1:
                    logits = model(ids, decoder_input_ids=torch.tensor([tokens])).logits
                    tokens.append(int(logits[0, -1].argmax()))
            answer = answers[request.query_id]
            assert answer.error is None
            assert answer.text == " ".join(WORDS[i] for i in tokens[1:] if i not in (1, 2, 3))
            assert answer.output_tokens == len(tokens) - 1
    assert len({answer.text for answer in answers.values()}) > 5
    if kind == "bart":  # the prompt alone has to fit
        fits, too_long = _request(CONTEXT - 1, "fits"), _request(CONTEXT, "too long")
        answers = _many(Transformers(str(folder), max_new_tokens=9), [fits, too_long])
        assert answers["fits"].error is None
        assert "context_overflow: the prompt has 65 tokens, more than the 64 that the encoder" in (
            answers["too long"].error or ""
        )
    longest = CONTEXT if kind == "bart" else 600  # T5 has no end of places
    generator = Transformers(str(folder), max_new_tokens=longest)
    assert generator.generate(_request(3)).error is None
    if kind == "bart":
        with pytest.raises(ConfigError, match=rf"max_new_tokens=65: .* at most {CONTEXT} tokens"):
            Transformers(str(folder), max_new_tokens=65).generate(_request(3))


def test_answers_are_as_long_as_their_kind_needs(tmp_path: Path) -> None:
    """A sentence 128 tokens, SQL 512; a prompt that leaves no room for that fails."""
    generator = Transformers(str(_write(tmp_path / "m", context=600)))
    text = generator.generate(replace(_request(100), answer="text"))
    sql = generator.generate(replace(_request(100), answer="sql"))
    assert text.error is None
    assert (text.output_tokens or 0) <= 128
    assert "an answer up to 512, more than the 600" in (sql.error or "")


def test_the_contract_is_kept(tmp_path: Path) -> None:
    model = _write(tmp_path / "tiny", context=512)
    report = check_generator(lambda: Transformers(model=str(model), max_new_tokens=5))
    assert not report.skipped


def test_a_prompt_that_is_too_long_fails_and_is_not_cut(folder: Path) -> None:
    requests = [_request(n, str(n)) for n in (CONTEXT + 40, CONTEXT - 11, CONTEXT - 10, 3)]
    answers = _many(Transformers(str(folder), max_new_tokens=10), requests)
    errors = {query_id: answer.error for query_id, answer in answers.items()}
    assert errors.pop("3") is None
    assert errors.pop(str(CONTEXT - 11)) is None  # with <s>, just as much as there is room
    for n, error in errors.items():
        assert error is not None
        assert error.startswith(f"context_overflow: the prompt has {int(n) + 1} tokens")
        assert f"more than the {CONTEXT}" in error


class _Listening:
    """A tokenizer that remembers what it read."""

    def __init__(self, tokenizer: Any, seen: list[str]) -> None:
        self._tokenizer = tokenizer
        self._seen = seen

    def __call__(self, text: str, **settings: Any) -> Any:
        self._seen.append(text)
        return self._tokenizer(text, **settings)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)


@pytest.mark.parametrize(
    ("template", "variables", "expected"),
    [
        (CHATML, None, "w1 s w5 w1 u w7 w2"),
        (CHATML, {"thinking": False}, "w1 s w5 w1 u w7 w2 w3"),
        (NO_SYSTEM, None, "w5 w7"),
    ],
)
def test_chat_templates(
    tmp_path: Path, template: str, variables: dict[str, Any] | None, expected: str
) -> None:
    model = _write(tmp_path / "m", template)
    seen: list[str] = []
    generator = Transformers(str(model), max_new_tokens=2, template=variables)
    generator._loaded._tokenizer = _Listening(generator._loaded._tokenizer, seen)
    messages = (Message("system", "w5"), Message("user", "w7"))
    answer = generator.generate(GenerationRequest("q", "qa", messages, "w7"))
    assert [" ".join(text.split()) for text in seen] == [expected]
    assert answer.input_tokens == len(expected.split())  # the template alone sets <s>
    assert answer.error is None


def test_a_template_that_fails_costs_one_query(tmp_path: Path) -> None:
    model = _write(tmp_path / "m", NO_SYSTEM)
    bad = GenerationRequest("bad", "qa", (Message("system", "w5"),), "")
    answers = _many(Transformers(str(model), max_new_tokens=2), [bad, _request(3, "good")])
    assert str(answers["bad"].error).startswith("raised: TemplateError: no system role")
    assert answers["good"].error is None


def test_too_little_memory_halves_the_batch_and_a_failure_costs_one_query(folder: Path) -> None:
    import torch

    generator = Transformers(str(folder), batch_size=8, max_new_tokens=3)
    answers, sizes = generator._loaded.answers, []

    def limited(batch: Sequence[Any]) -> list[Generation]:
        sizes.append(len(batch))
        if len(batch) > 2:
            raise torch.OutOfMemoryError("2 prompts at most")
        if any(prompt.query_id == "q5" for prompt in batch):
            raise RuntimeError("not this one")
        return answers(batch)

    generator._loaded.answers = limited  # type: ignore[method-assign]
    results = _many(generator, [_request(3 + i, f"q{i}") for i in range(8)])
    assert sizes == [8, 4, 2, 2, 1, 1, 4, 2, 2]  # the longest first: q7, q6; q5, q4; ...
    errors = {query_id: answer.error for query_id, answer in results.items() if answer.error}
    assert errors == {"q5": "raised: RuntimeError: not this one"}
    assert len(results) == 8


def test_the_identity_is_the_content_of_the_model_and_not_its_place(
    folder: Path, tmp_path: Path
) -> None:
    def identity(model: Path, **settings: Any) -> Any:
        described, warning = plugin_identity(Transformers(str(model), device="cpu", **settings))
        assert warning is None
        assert str(model) not in json.dumps(described)
        return described

    same = _write(tmp_path / "same")
    (same / ".cache").write_text("nothing")
    assert identity(folder) == identity(same)
    assert identity(folder) != identity(folder, max_new_tokens=9)
    weights = same / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert identity(folder) != identity(same)


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot load it as a language model"):
        Transformers(str(tmp_path)).generate(_request(3))
    assert os.environ["HF_HUB_OFFLINE"] == "1"
    with pytest.raises(ConfigError, match=r"model=\./nope: there is no such folder"):
        Transformers("./nope").generate(_request(3))
    for device in ("cuda:99", "abacus"):
        with pytest.raises(ConfigError, match=f"device={device}"):
            Transformers(str(tmp_path), device=device).generate(_request(3))
    with pytest.raises(ConfigError, match="model=no-such/model"):
        Transformers("no-such/model").config()
