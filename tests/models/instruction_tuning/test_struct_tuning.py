"""A LLaMA of random weights learns to write tables; the adapter answers, and is scored."""

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench import TARGET
from target_bench.core import registry
from target_bench.core.errors import ConfigError, DataError, MissingExtraError
from target_bench.core.identity import plugin_identity
from target_bench.core.prompt_writer import PromptOptions
from target_bench.core.schema import GenerationRequest, Message
from target_bench.models.instruction_tuning import struct_tuning, tuning_examples
from target_bench.models.instruction_tuning.adapter_loop import Tuning
from target_bench.models.instruction_tuning.struct_tuning import Settings, Tuned, tune
from target_bench.models.lora_adapters import Lora
from target_bench.models.prompts.prompting import writer_of
from target_bench.models.training import training_record
from target_bench.models.training.training_loop import Course
from target_bench.models.training.training_splits import Data
from tests.builders import Recorder
from tests.cli.inside import Inside
from tests.models.instruction_tuning.tiny_llama import records, write_llama, write_records

LORA = Lora(
    16, 32, 0.0, ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
)
TUNING = Tuning(Course(epochs=20, batch_size=8, lr=0.003, seed=1), at_once=5)
SHORT = replace(TUNING, course=Course(epochs=1, batch_size=8, lr=0.003, seed=1))
HELD_OUT = 5
"""One record in so many is for the test."""

Fixture = tuple[Tuned, Path, Path, Recorder]


def _settings(llama: Path, tuning: Tuning = TUNING, lora: Lora = LORA) -> Settings:
    return Settings(f"transformers:model={llama}", lora=lora, tuning=tuning)


@pytest.fixture(scope="package")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of struc-bench; the records of the test are among those to train on."""
    folder = tmp_path_factory.mktemp("struc-bench")
    every = records()
    write_records(folder / "table_test.json", every[::HELD_OUT])
    write_records(folder / "table_train.json", every)
    return folder


@pytest.fixture(scope="package")
def tuned(llama: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Fixture:
    """An adapter, its base, what it was trained on, and what was said."""
    heard = Recorder()
    corpora = Data(["struc-bench"], keep_out=["test"], data_dir=data)
    folder = tmp_path_factory.mktemp("tuned") / "adapter"
    return tune(corpora, folder, _settings(llama), observer=heard), llama, data, heard


def _tune(
    data: Data,
    folder: Path,
    settings: Settings,
    files: Sequence[Path] = (),
    heard: Recorder | None = None,
) -> Tuned:
    return tune(data, folder, settings, files, heard or Recorder())


def _spec(llama: Path, adapter: Path) -> str:
    return f"transformers:model={llama},adapter={adapter},max_new_tokens=40"


def test_the_loss_falls_and_alone_the_adapter_is_trained(tuned: Fixture) -> None:
    found, _, _, heard = tuned
    assert found.losses[-1] < 0.1 * found.losses[0]
    assert len(found.losses) == TUNING.course.epochs
    assert 0 < found.weights[0] < 0.5 * found.weights[1]
    assert heard.steps == TUNING.course.epochs * 4
    names = {path.name for path in found.folder.iterdir()}
    own = {training_record.RECORD, training_record.PAIRS}
    assert names == {"adapter_config.json", "adapter_model.safetensors", *own}


def test_what_will_be_scored_is_left_out(tuned: Fixture) -> None:
    """The test's records are among those to train on; they are found by their words."""
    found, _, data, heard = tuned
    n_test = len(records()[::HELD_OUT])
    assert found.examples == len(records()) - n_test
    (note,) = found.left_out
    assert note in heard.warnings
    assert f"{n_test} of {len(records())} examples are left out: {n_test} ask the same" in note
    pairs = training_record.read_pairs(found.folder)
    assert not {p.query_id for p in pairs} & {f"table/{n}" for n in range(0, 32, HELD_OUT)}
    stated = training_record.read(found.folder)
    assert stated["data"]["kept_out"] == ["struc-bench test"]
    assert stated["data"]["train"][0]["examples"] == found.examples
    assert stated["settings"]["lora"]["targets"] == list(LORA.targets)
    assert (stated["settings"]["seed"], stated["examples"]) == (1, found.examples)
    assert set(stated["packages"]) == {"peft", "torch", "transformers"}
    assert "model.safetensors" in stated["weights"]["model"]
    assert str(data) not in json.dumps(stated)


def test_its_answers_are_scored(tuned: Fixture, tmp_path: Path) -> None:
    """Tables of records that it never saw: readable, and better than those of the base."""
    found, llama, data, _ = tuned

    def scores(spec: str) -> tuple[dict[str, Any], list[str]]:
        heard = Recorder()
        target = TARGET(
            ("text_to_table", "struc-bench"), out=tmp_path, data_dir=data, observer=heard
        )
        (result,) = target.run(None, "test", generator=spec)
        return {name: score.value for name, score in result.scores.items()}, heard.warnings

    base, _ = scores(f"transformers:model={llama},max_new_tokens=40")
    own, warnings = scores(_spec(llama, found.folder))
    assert own["valid[strict]"] == own["column_header_f1"] == 1
    assert base["valid[strict]"] < 0.5
    assert own["h_structure[v2]"] > base["h_structure[v2]"] + 0.5
    assert own["row_header_f1"] > base["row_header_f1"] + 0.1
    assert not any("was trained on" in warning for warning in warnings)


def test_a_score_says_what_the_adapter_has_seen(tuned: Fixture, tmp_path: Path) -> None:
    found, llama, data, _ = tuned
    heard = Recorder()
    target = TARGET(("text_to_table", "struc-bench"), out=tmp_path, data_dir=data, observer=heard)
    (result,) = target.run(None, "train", generator=_spec(llama, found.folder))
    said = "was trained on 25 of the 32 questions and 25 of the 32 gold tables of struc-bench train"
    assert [warning for warning in heard.warnings if said in warning]
    manifest = json.loads((result.folder / "manifest.json").read_text())
    assert any(said in note for note in manifest["notes"])


def test_the_same_twice_and_other_seeds_differ(llama: Path, data: Path, tmp_path: Path) -> None:
    def weights(name: str, seed: int) -> bytes:
        tuning = replace(SHORT, course=replace(SHORT.course, seed=seed))
        files = [data / "table_train.json"]
        found = _tune(Data(()), tmp_path / name, _settings(llama, tuning), files)
        return (found.folder / "adapter_model.safetensors").read_bytes()

    first = weights("a", 1)
    assert first == weights("b", 1)
    assert first != weights("c", 2)


def test_parts_of_a_batch_and_their_padding_do_not_matter(
    llama: Path, data: Path, tmp_path: Path
) -> None:
    losses = []
    for at_once in (1, 8):
        tuning = replace(SHORT, at_once=at_once)
        folder = tmp_path / str(at_once)
        found = _tune(Data(()), folder, _settings(llama, tuning), [data / "table_train.json"])
        losses.append(found.losses)
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_files_are_kept_apart_from_what_will_be_scored(
    llama: Path, data: Path, tmp_path: Path
) -> None:
    """A table is known again in a file under other words."""
    other = [{**one, "input": f"so {one['input']}"} for one in records()]
    path = write_records(tmp_path / "table_more.json", other)
    kept = Data((), keep_out=["struc-bench:test"], data_dir=data)
    found = _tune(kept, tmp_path / "out", _settings(llama, SHORT), [path])
    assert found.examples == 25
    assert "7 are about a copy of a gold table" in found.left_out[0]
    with pytest.raises(ConfigError, match="Without --strict"):
        _tune(replace(kept, strict=True), tmp_path / "no", _settings(llama, SHORT), [path])


def test_longer_examples_are_left_out_and_never_cut(
    llama: Path, data: Path, tmp_path: Path
) -> None:
    some = records()[:4]
    some[0]["input"] *= 40
    path = write_records(tmp_path / "table_more.json", some)
    heard = Recorder()
    found = _tune(
        Data(()), tmp_path / "out", _settings(llama, replace(SHORT, max_tokens=300)), [path], heard
    )
    assert (found.examples, found.too_long) == (3, 1)
    assert [w for w in heard.warnings if "1 of 4 examples have more than 300 tokens" in w]
    with pytest.raises(ConfigError, match="all 4 examples have more than 9 tokens"):
        _tune(Data(()), tmp_path / "no", _settings(llama, replace(SHORT, max_tokens=9)), [path])


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"instruction": "a", "input": "b"}, "line 2: the field 'output' is missing"),
        ({"instruction": "a", "output": "none"}, "line 2: no table can be read in the output"),
    ],
)
def test_records_with_faults(
    llama: Path, tmp_path: Path, record: dict[str, str], message: str
) -> None:
    path = write_records(tmp_path / "table_train.json", [record])
    with pytest.raises(DataError, match=message):
        _tune(Data(()), tmp_path / "out", _settings(llama), [path])
    assert not (tmp_path / "out").exists()


def test_targets_that_the_model_lacks(llama: Path, data: Path, tmp_path: Path) -> None:
    lora = Lora(targets=("q_proj", "c_attn"))
    with pytest.raises(ConfigError, match=r"no linear layer c_attn; it has down_proj, gate_proj"):
        _tune(Data(()), tmp_path / "o", _settings(llama, lora=lora), [data / "table_train.json"])


def test_too_little_memory(
    llama: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> Any:
        raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")

    monkeypatch.setattr("target_bench.models.instruction_tuning.adapter_loop.loss", full)
    with pytest.raises(ConfigError, match="5 examples at a time: memory does not suffice; set"):
        _tune(Data(()), tmp_path / "out", _settings(llama), [data / "table_train.json"])
    assert list(tmp_path.iterdir()) == []


def test_a_loss_that_is_not_a_number(
    llama: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(
        "target_bench.models.instruction_tuning.adapter_loop.loss",
        lambda *_: torch.tensor(float("nan"), requires_grad=True),
    )
    with pytest.raises(ConfigError, match="set a lower learning rate"):
        _tune(Data(()), tmp_path / "out", _settings(llama), [data / "table_train.json"])


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("extractive", "cannot be trained"),
        ("transformers:model=./none", "there is no such folder"),
    ],
)
def test_bases_that_are_of_no_use(
    one_thread: None, data: Path, tmp_path: Path, base: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        _tune(Data(()), tmp_path / "o", Settings(base), [data / "table_train.json"])


def test_settings_without_sense(tmp_path: Path) -> None:
    shapes: list[dict[str, Any]] = [{"rank": 0}, {"alpha": 0}, {"dropout": 1.0}, {"targets": ()}]
    limits: list[dict[str, Any]] = [{"at_once": 0}, {"max_tokens": 0}]
    for wrong in shapes:
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            Lora(**wrong)
    for wrong in limits:
        with pytest.raises(ConfigError, match="=0: at least 1"):
            Tuning(**wrong)


def test_nothing_to_train_on(llama: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--instructions"):
        _tune(Data(()), tmp_path / "out", _settings(llama))


def test_adapters_and_models_that_do_not_fit(tuned: Fixture, tmp_path: Path) -> None:
    found, llama, _, _ = tuned
    other = write_llama(tmp_path / "other", width=32)

    def identity(settings: str) -> Any:
        return plugin_identity(registry.create("generator", f"transformers:{settings}"))[0]

    with pytest.raises(ConfigError, match="it was trained on another model"):
        identity(f"model={other},adapter={found.folder}")
    with pytest.raises(ConfigError, match="it is an adapter; name its model too"):
        identity(f"model={found.folder}")
    with pytest.raises(ConfigError, match="there is no folder with adapter_config"):
        identity(f"model={llama},adapter={other}")
    bare = tmp_path / "bare"
    shutil.copytree(found.folder, bare)
    (bare / training_record.RECORD).unlink()
    generator = registry.create("generator", f"transformers:model={other},adapter={bare}")
    asked = GenerationRequest("q", "t", (Message("user", "ann"),), "ann")
    with pytest.raises(ConfigError, match="PEFT cannot add it to the model"):
        generator.generate(asked)
    with pytest.raises(ConfigError, match="a model with an adapter is not trained"):
        registry.create("generator", _spec(llama, found.folder)).trainable()


def test_the_identity_holds_the_adapter_and_not_its_place(tuned: Fixture, tmp_path: Path) -> None:
    found, llama, _, _ = tuned
    copy = shutil.copytree(found.folder, tmp_path / "copy")

    def config(settings: str) -> Any:
        return registry.create("generator", f"transformers:{settings}").config()

    assert config(f"model={llama},adapter={copy}") == config(
        f"model={llama},adapter={found.folder}"
    )
    assert "adapter_model.safetensors" in config(f"model={llama},adapter={copy}")["adapter"]
    assert "adapter" not in config(f"model={llama}")


TEMPLATE = "{% for m in messages %}{{ m.content }}|{% endfor %}"


@pytest.mark.parametrize("template", [None, TEMPLATE])
def test_prompts_are_those_of_runs(
    llama: Path, data: Path, tmp_path: Path, template: str | None
) -> None:
    """To the token, with a chat template and without; the answer and its end come after."""
    from transformers import AutoTokenizer

    model = shutil.copytree(llama, tmp_path / "model")
    tokenizer = AutoTokenizer.from_pretrained(model)
    tokenizer.chat_template = template
    tokenizer.save_pretrained(model)
    task = tuning_examples.task_of_tables()
    writer = writer_of(task, PromptOptions(), {}, False)
    kept = Data(["struc-bench"], keep_out=[], data_dir=data)
    example = tuning_examples.load(kept, (), task, Recorder()).kept[0]
    ids, n_prompt = struct_tuning.tokens_of(example, writer, tokenizer)
    request = writer.prompted(example.query, ()).request
    generator = registry.create("generator", f"transformers:model={model},max_new_tokens=1")
    assert generator.generate(request).input_tokens == n_prompt
    assert list(ids[:n_prompt]) == list(generator._loaded.prompt(request, None).ids)
    assert tokenizer.decode(ids[n_prompt:-1]).strip() == example.output
    assert ids[-1] == tokenizer.eos_token_id


def test_a_base_in_half_precision(llama: Path, data: Path, tmp_path: Path) -> None:
    base = f"transformers:model={llama},dtype=bfloat16"
    settings = Settings(base, lora=LORA, tuning=replace(TUNING, course=Course(3, 8, 0.003)))
    found = _tune(Data(()), tmp_path / "out", settings, [data / "table_train.json"])
    assert found.losses[-1] < 0.7 * found.losses[0]


def test_from_the_command_line(inside: Inside, llama: Path, data: Path) -> None:
    done = inside(
        *("train", "struct", "--corpus", "struc-bench", "--data-dir", data, "-o", "out"),
        *("--base", f"transformers:model={llama}", "--epochs", 1, "--batch-size", 16),
        *("--rank", 4, "--targets", "q_proj,v_proj", "--keep-out", "test", "--lr", 0.003),
    )
    assert done.code == 0, done.err
    assert "25 examples, 1,536 of 50,352 weights trained; mean loss" in done.out
    assert f'--generator "transformers:model={llama},adapter=out"' in done.out
    assert training_record.read(Path("out"))["settings"]["lora"]["rank"] == 4


def test_a_missing_package_is_named(
    llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "peft" else sys)
    with pytest.raises(MissingExtraError, match=r"target-bench\[train\]"):
        _tune(Data(()), tmp_path / "out", _settings(llama))
    with pytest.raises(MissingExtraError, match=r"target-bench\[train\]"):
        registry.create("generator", f"transformers:model={llama},adapter=x")
