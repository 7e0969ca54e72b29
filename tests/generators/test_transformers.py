"""Local language models: batches, templates, exact counts, nothing cut; on a tiny random model."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
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
    folder: Path, template: str | None = None, context: int = CONTEXT, kind: str = "llama"
) -> Path:
    """Llama; T5, with places relative to each other; or BART, which counts them from the left."""
    import transformers as library
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 1)])
    tokenizer = library.PreTrainedTokenizerFast(
        tokenizer_object=words, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)

    config: Any
    tokens = {"vocab_size": len(WORDS), "bos_token_id": 1, "eos_token_id": 2}
    if kind == "llama":
        heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2}
        sizes = {"hidden_size": 32, "intermediate_size": 48, "max_position_embeddings": context}
        config = library.LlamaConfig(
            initializer_range=0.5, pad_token_id=None, **heads, **sizes, **tokens
        )
    elif kind == "t5":
        sizes = {"d_model": 32, "d_ff": 48, "d_kv": 8, "num_layers": 2, "num_heads": 4}
        config = library.T5Config(initializer_factor=3.0, pad_token_id=3, **sizes, **tokens)
        config.decoder_start_token_id = 3
    else:
        parts = {"layers": 2, "attention_heads": 4, "ffn_dim": 48}
        sizes = {
            f"{side}_{part}": n for side in ("encoder", "decoder") for part, n in parts.items()
        }
        sizes |= {"d_model": 32, "max_position_embeddings": context}
        config = library.BartConfig(init_std=0.5, pad_token_id=3, **sizes, **tokens)
    _library_class(kind).from_config(_seeded(config)).save_pretrained(folder)
    return folder


def _library_class(kind: str) -> Any:
    import transformers as library

    return library.AutoModelForCausalLM if kind == "llama" else library.AutoModelForSeq2SeqLM


def _seeded(config: Any) -> Any:
    import torch

    torch.manual_seed(7)
    return config


def _request(n_words: int, query_id: str = "q") -> GenerationRequest:
    text = " ".join(f"w{(i * i + n_words) % 60}" for i in range(n_words))
    return GenerationRequest(query_id, "qa", (Message("user", text),), text)


def _many(generator: Transformers, requests: Sequence[GenerationRequest]) -> dict[str, Generation]:
    return {g.query_id: g for g in generator.generate_many(iter(requests), Observer())}


def _greedy(model: Any, prompt: Sequence[int], n: int) -> list[int]:
    """What the model says, one token at a time, without ``generate``, batches or padding."""
    import torch

    start = getattr(model.config, "decoder_start_token_id", None)
    answer: list[int] = []
    with torch.inference_mode():
        # BART's decoder starts with the token that ends an answer.
        while len(answer) < n and answer[-1:] != [2]:
            if start is None:
                logits = model(torch.tensor([[*prompt, *answer]])).logits
            else:
                decoded = torch.tensor([[start, *answer]])
                logits = model(torch.tensor([prompt]), decoder_input_ids=decoded).logits
            answer.append(int(logits[0, -1].argmax()))
    return answer


@pytest.mark.parametrize("kind", ["llama", "t5", "bart"])
def test_batches_of_any_size_give_the_greedy_answers_and_exact_counts(
    kind: str, tmp_path: Path
) -> None:
    from transformers import AutoTokenizer

    folder = _write(tmp_path / kind, kind=kind)
    model = _library_class(kind).from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    requests = [_request(1 + 7 * i % 40, f"q{i}") for i in range(11)]
    prompts = {r.query_id: tokenizer(r.messages[0].content)["input_ids"] for r in requests}
    expected = {query_id: _greedy(model, ids, 9) for query_id, ids in prompts.items()}
    for batch_size in (1, 4, 11):
        generator = Transformers(str(folder), device="cpu", batch_size=batch_size, max_new_tokens=9)
        answers = _many(generator, requests)
        for query_id, tokens in expected.items():
            answer = answers[query_id]
            assert answer.error is None
            assert answer.text == " ".join(WORDS[i] for i in tokens if i not in (1, 2, 3))
            assert answer.input_tokens == len(prompts[query_id])
            assert answer.output_tokens == len(tokens)
            assert answer.seconds is not None
    assert len({answer.text for answer in answers.values()}) > 5


def test_what_an_encoder_reads_and_a_decoder_writes_is_limited(tmp_path: Path) -> None:
    """The prompt alone has to fit; T5 has no end of places."""
    bart, t5 = (str(_write(tmp_path / kind, kind=kind)) for kind in ("bart", "t5"))
    fits, too_long = _request(CONTEXT - 1, "fits"), _request(CONTEXT, "too long")
    answers = _many(Transformers(bart, max_new_tokens=9), [fits, too_long])
    assert answers["fits"].error is None
    assert "context_overflow: the prompt has 65 tokens, more than the 64 that the encoder" in (
        answers["too long"].error or ""
    )
    for model, longest in ((bart, CONTEXT), (t5, 600)):
        assert Transformers(model, max_new_tokens=longest).generate(_request(3)).error is None
    with pytest.raises(ConfigError, match=rf"max_new_tokens=65: .* at most {CONTEXT} tokens"):
        Transformers(bart, max_new_tokens=65).generate(_request(3))


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


def test_a_lone_surrogate_is_read_as_a_question_mark(folder: Path) -> None:
    generator = Transformers(str(folder), max_new_tokens=2)
    seen: list[str] = []
    generator._loaded._tokenizer = _Listening(generator._loaded._tokenizer, seen)
    answers = generator._loaded.generate
    prompts: list[list[int]] = []

    def generate(batch: Sequence[Any]) -> list[Generation]:
        prompts.extend(prompt.ids for prompt in batch)
        return answers(batch)

    generator._loaded.generate = generate  # type: ignore[method-assign]
    for text in ("w5 ?", "w5 \ud83d"):
        answer = generator.generate(GenerationRequest("q", "qa", (Message("user", text),), ""))
        assert answer.error is None
    assert seen == ["w5 ?", "w5 ?"]
    assert prompts == [[WORDS.index(word) for word in ("<s>", "w5", "<unk>")]] * 2


def test_a_template_that_fails_costs_one_query(tmp_path: Path) -> None:
    model = _write(tmp_path / "m", NO_SYSTEM)
    bad = GenerationRequest("bad", "qa", (Message("system", "w5"),), "")
    answers = _many(Transformers(str(model), max_new_tokens=2), [bad, _request(3, "good")])
    assert str(answers["bad"].error).startswith("raised: TemplateError: no system role")
    assert answers["good"].error is None


def test_too_little_memory_halves_the_batch_and_a_failure_costs_one_query(folder: Path) -> None:
    import torch

    generator = Transformers(str(folder), batch_size=8, max_new_tokens=3)
    answers, sizes = generator._loaded.generate, []

    def limited(batch: Sequence[Any]) -> list[Generation]:
        sizes.append(len(batch))
        if len(batch) > 2:
            raise torch.OutOfMemoryError("2 prompts at most")
        if any(prompt.query_id == "q5" for prompt in batch):
            raise RuntimeError("not this one")
        return answers(batch)

    generator._loaded.generate = limited  # type: ignore[method-assign]
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
