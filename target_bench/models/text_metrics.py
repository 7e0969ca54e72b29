"""Metrics of a model, of texts and of answers that hold tables: BERTScore, BARTScore, BLEURT.

Of whole answers with tables, as in Struc-Bench (Tang et al. 2023), and BERTScore of headers and
cells, as in Wu et al. (2022).
"""

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.metric import (
    Floats,
    MeanOfValues,
    Metric,
    MetricDefinition,
    MetricSpec,
    by_name,
)
from target_bench.core.reasoning import READING
from target_bench.metrics import bertscore
from target_bench.metrics.text import MeanOverAnswers, TextAnswers
from target_bench.models.cross_encoder import Scorer
from target_bench.models.local_models import LocalModel, silence_libraries
from target_bench.tables.compared_tables import ComparedTables
from target_bench.tables.descriptions import JudgedDescriptions, references_of
from target_bench.tables.header_cell_scores import Part
from target_bench.tables.table_metrics import (
    VERSION,
    AnswerTextMetric,
    declare_part,
    declare_text_metric,
)
from target_bench.tables.totto_text import NULL

Compared = Sequence[ComparedTables]

BARTSCORE = MetricSpec(
    "bartscore",
    "BARTScore",
    "mean log-likelihood of a token of the reference after the answer (needs a model)",
    "Yuan et al. 2021",
    scores="texts",
    scale="unbounded",
    highest=0.0,
    needs=("references", "the extra transformers", "a model"),
)
BLEURT_SPEC = MetricSpec(
    "bleurt",
    "BLEURT",
    "mean BLEURT over references, ToTTo's script (needs --task table_to_text:bleurt=FOLDER)",
    "Sellam et al. 2020; ToTTo's totto_bleurt_eval.py",
    scores="texts",
    scale="unbounded",
    needs=("references", "the extra bleurt", "a checkpoint"),
)
_BATCH = 4  # pairs that BARTScore scores at once
_LONGEST = 1024  # tokens of a text that BARTScore reads, as in the authors' code


class BARTScore(MeanOverAnswers):
    """The mean log-likelihood of a token of the best reference, given the answer, over queries.

    As ``BARTScorer.score(answers, references)`` of Yuan et al. (2021) computes it, whose model is
    ``facebook/bart-large-cnn``. At most 0; an answer that failed is an empty one.

    Args:
        model: a folder with a model of BART's kind, or a name on the Hugging Face hub.
        reading: how the answers were read, for the signature; empty if they are taken whole.
    """

    def __init__(self, model: str, reading: str = "") -> None:
        for package in ("transformers", "torch"):
            if importlib.util.find_spec(package) is None:
                raise MissingExtraError(package, "transformers", "the metric bartscore")
        self._model = _Bart(model)
        try:
            _ = self._model.loaded  # read here, to raise here
            revision = self._model.revision()[:12]
        except ConfigError as error:
            raise ConfigError(
                f"bartscore={model}: {error}. Download facebook/bart-large-cnn, or another model "
                "of BART's kind, and name its folder"
            ) from error
        description = (
            f"log-likelihood of the reference after the answer|tokens:{_LONGEST}|model:{revision}"
            f"|{_write_packages()}"
        )
        super().__init__(BARTSCORE, description, self._score_answers, reading)

    def _score_answers(self, examples: TextAnswers) -> Floats:
        texts = [text or "" for text in examples.readable]
        queries, pairs = _pair_up(texts, examples.references)
        best = np.full(len(texts), -np.inf)
        np.maximum.at(best, queries, self._score_pairs(pairs))
        return best

    def _score_pairs(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        import torch

        tokenizer, model = self._model.loaded
        scores: list[float] = []
        for start in range(0, len(pairs), _BATCH):
            batch = zip(*pairs[start : start + _BATCH], strict=True)
            with torch.no_grad():
                inputs, labels = (
                    tokenizer(
                        list(texts),
                        max_length=_LONGEST,
                        truncation=True,
                        padding=True,
                        return_tensors="pt",
                    ).to(model.device)
                    for texts in batch
                )
                tokens = labels["input_ids"]
                logits = model(**inputs, labels=tokens).logits
                likely = logits.log_softmax(dim=-1).gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
                likely = likely * (tokens != model.config.pad_token_id)
                means = likely.sum(dim=1) / labels["attention_mask"].sum(dim=1)
            scores += means.double().tolist()
        return np.array(scores, dtype=np.float64)


class _Bart(LocalModel):
    def __init__(self, model: str) -> None:
        self.model = model

    def read_model(self, source: str, **settings: Any) -> Any:
        """Read tokenizer and model."""
        from transformers import AutoTokenizer, BartForConditionalGeneration

        if "cache_folder" in settings:  # as sentence-transformers calls it
            settings["cache_dir"] = settings.pop("cache_folder")
        with silence_libraries():
            model = BartForConditionalGeneration.from_pretrained(source, **settings)
            tokenizer = AutoTokenizer.from_pretrained(source, **settings)
            return tokenizer, model.to(self.chosen_device).eval()


class BLEURT(MeanOverAnswers):
    """The score of a BLEURT checkpoint (Sellam et al. 2020), mean over references, then queries.

    As ToTTo's ``totto_bleurt_eval.py``: the texts are lower-cased and detokenised, and a missing
    reference that is ``<null>`` for PARENT counts in the mean. A checkpoint is one that
    transformers reads as a model for sequence classification with one output: BLEURT's own are
    TensorFlow's and have to be converted. It reads reference and answer in this order. Scores may
    be negative; an answer that failed is scored as an empty one, ``<null>``.

    Args:
        model: a folder, or a name on the Hugging Face hub.
        n_references: how many references a query has, or ``var``, for the signature.
        reading: how the answers were read, for the signature; empty if they are taken whole.
        as_written: whether texts are compared as they are, and a failed answer as an empty one.
    """

    def __init__(
        self,
        model: str,
        n_references: str = "var",
        reading: str = "",
        as_written: bool = False,
    ) -> None:
        if importlib.util.find_spec("sentence_transformers") is None:
            raise MissingExtraError("sentence-transformers", "bleurt", "the metric bleurt")
        self._scorer = Scorer(model, dtype="float32")
        try:
            self._scorer.load()
        except ConfigError as error:
            raise ConfigError(
                f"bleurt={model}: {error}. Download a BLEURT checkpoint that was converted for "
                "transformers (BertForSequenceClassification with one output, as "
                "Elron/bleurt-base-512) and name its folder"
            ) from error
        self._failed = "" if as_written else NULL
        prepared = f"case:lc|detok:moses-en|{references_of(n_references)}"
        description = (
            f"mean over references|{'as written' if as_written else prepared}"
            f"|reference first|model:{self._scorer.revision()[:12]}|{_write_packages()}"
        )
        super().__init__(BLEURT_SPEC, description, self._score_answers, reading)

    def _score_answers(self, examples: TextAnswers) -> Floats:
        compared = examples.compared if isinstance(examples, JudgedDescriptions) else examples
        texts = [self._failed if text is None else text for text in compared.readable]
        queries, pairs = _pair_up(texts, compared.references)
        scores = self._scorer.scores([(reference, text) for text, reference in pairs])
        sums = np.bincount(queries, scores, len(texts))
        means: Floats = sums / np.bincount(queries, minlength=len(texts))
        return means


def _write_packages() -> str:
    return "|".join(f"{name}=={version(name)}" for name in ("transformers", "torch"))


def _pair_up(
    texts: Sequence[str], references: Sequence[Sequence[str]]
) -> tuple[NDArray[np.int64], list[tuple[str, str]]]:
    """Return each text with each of its references, and the numbers of their queries."""
    queries = np.repeat(np.arange(len(texts)), [len(accepted) for accepted in references])
    both = zip(texts, references, strict=True)
    return queries, [(text, reference) for text, accepted in both for reference in accepted]


# Of answers that hold tables

_SPECS = {
    spec.name: declare_text_metric(
        spec, (*spec.needs, f"--metric '{spec.name}[tables]:model=MODEL'")
    )
    for spec in (bertscore.SPEC, BARTSCORE, BLEURT_SPEC)
}


def _bertscore_of_tables(model: str) -> Metric[Compared]:
    return AnswerTextMetric(_SPECS["bertscore"], bertscore.BERTScore(model, READING))


def _bartscore_of_tables(model: str) -> Metric[Compared]:
    return AnswerTextMetric(_SPECS["bartscore"], BARTScore(model, READING))


def bleurt_of_tables(model: str) -> Metric[Compared]:
    """Make BLEURT of whole answers, as they are written; the model as for ``BLEURT``."""
    return AnswerTextMetric(_SPECS["bleurt"], BLEURT(model, "1", READING, as_written=True))


_PARTS: tuple[Part, ...] = ("cells", "row_header", "col_header")
_ENDING = ("[bertscore]", " (BERTScore)", "rescaled BERTScore of the most similar one")


class CellBERTScore:
    """F1 of headers and cells by BERTScore, rescaled and cut to 0 to 1, as Wu et al. (2022).

    Args:
        model: as for ``BERTScore``; bert-score must have a baseline of the model.
    """

    def __init__(self, model: str) -> None:
        self.model = bertscore.RescaledBERTScore(model)
        self._known: dict[tuple[str, str], float] = {}

    def metric(self, part: Part) -> Metric[Compared]:
        """Make the metric of one part."""
        spec = _declare_cell_metric(part)

        def sign() -> str:
            package = f"bert-score=={version('bert-score')}"
            return "|".join([spec.name, spec.description, VERSION, self.model.settings, package])

        return MeanOfValues(spec, partial(self._score_part, part), sign)

    def _score_part(self, part: Part, examples: Compared) -> Iterator[list[float]]:
        for compared in examples:
            pairs = compared.pairs(self._compare)
            yield [scores[part].f1 for _, scores in pairs if part in scores]

    def _compare(self, gold: Sequence[str], answer: Sequence[str]) -> NDArray[np.float64]:
        """Return (gold, answer) similarities; each pair of texts is compared once."""
        pairs = {(gold_text, answer_text) for gold_text in gold for answer_text in answer}
        missing = sorted(pairs - self._known.keys())
        if missing:
            scores = self.model.scores([a for _, a in missing], [g for g, _ in missing])
            self._known |= zip(missing, scores.tolist(), strict=True)
        return np.array(
            [[self._known[gold_text, answer_text] for answer_text in answer] for gold_text in gold]
        )


def _declare_cell_metric(part: Part) -> MetricSpec:
    needs = ("the extra bertscore", "--metric 'cell_f1[bertscore]:model=MODEL'")
    return declare_part(part, _ENDING, needs=needs)


def _define_part(part: Part) -> MetricDefinition:
    def make(model: str) -> Metric[Compared]:
        return CellBERTScore(model).metric(part)

    return MetricDefinition(_declare_cell_metric(part), make)


_MAKERS: dict[str, Callable[[str], Metric[Compared]]] = {
    "bertscore": _bertscore_of_tables,
    "bartscore": _bartscore_of_tables,
    "bleurt": bleurt_of_tables,
}

DEFINITIONS = by_name(
    MetricDefinition(BLEURT_SPEC, BLEURT),
    *(MetricDefinition(_SPECS[name], make) for name, make in _MAKERS.items()),
    *map(_define_part, _PARTS),
)
