"""BARTScore of generated text, by BART; needs the extra ``transformers``."""

import importlib.util
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.metric import Floats, MetricSpec
from target_bench.metrics.text import JudgedAnswers, MeanOverAnswers
from target_bench.models.local_models import LocalModel, silence_libraries

SPEC = MetricSpec(
    "bartscore",
    "BARTScore",
    "mean log-likelihood of a token of the reference after the answer (needs a model)",
    "Yuan et al. 2021",
    scores="texts",
    scale="unbounded",
    highest=0.0,
    needs=("references", "the extra transformers", "a model"),
    tolerance=0.001,
)

LONGEST = 1024
"""Tokens of a text that are read, as in the authors' code."""


class BARTScore(MeanOverAnswers):
    """The mean log-likelihood of a token of the best reference, given the answer, over queries.

    As ``BARTScorer.score(answers, references)`` of Yuan et al. (2021) computes it, whose model is
    ``facebook/bart-large-cnn``. At most 0; an answer that failed is an empty one.

    Args:
        model: a folder with a model of BART's kind, or a name on the Hugging Face hub.
        reading: how the answers were read, for the signature; empty if they are taken whole.
        batch_size: how many pairs are scored at once.

    Raises:
        ConfigError: there is no such model, or it is of another kind.
        MissingExtraError: the package transformers is missing.
    """

    def __init__(self, model: str, reading: str = "", batch_size: int = 4) -> None:
        for package in ("transformers", "torch"):
            if importlib.util.find_spec(package) is None:
                raise MissingExtraError(package, "transformers", "the metric bartscore")
        self._model = _Bart(model)
        self._batch_size = batch_size
        try:
            assert self._model.loaded
            revision = self._model.revision()[:12]
        except ConfigError as error:
            raise ConfigError(
                f"bartscore={model}: {error}. Download facebook/bart-large-cnn, or another model "
                "of BART's kind, and name its folder"
            ) from error
        packages = "|".join(f"{name}=={version(name)}" for name in ("transformers", "torch"))
        description = (
            f"log-likelihood of the reference after the answer|tokens:{LONGEST}|model:{revision}"
            f"|{packages}"
        )
        super().__init__(SPEC, description, self._score_answers, reading)

    def _score_answers(self, examples: JudgedAnswers) -> Floats:
        both = list(zip(examples.readable, examples.references, strict=True))
        pairs = [(text or "", reference) for text, accepted in both for reference in accepted]
        places = np.repeat(np.arange(len(both)), [len(accepted) for _, accepted in both])
        best = np.full(len(both), -np.inf)
        np.maximum.at(best, places, self._scores(pairs))
        return best

    def _scores(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        import torch

        tokenizer, model = self._model.loaded
        scores: list[float] = []
        for start in range(0, len(pairs), self._batch_size):
            answers, references = zip(*pairs[start : start + self._batch_size], strict=True)
            with torch.no_grad():
                inputs, labels = (
                    tokenizer(
                        list(texts),
                        max_length=LONGEST,
                        truncation=True,
                        padding=True,
                        return_tensors="pt",
                    ).to(model.device)
                    for texts in (answers, references)
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

        with silence_libraries():
            model = BartForConditionalGeneration.from_pretrained(source, **settings)
            return AutoTokenizer.from_pretrained(source, **settings), model.to(
                self.chosen_device
            ).eval()
