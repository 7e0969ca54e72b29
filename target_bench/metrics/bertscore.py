"""BERTScore of generated text; needs the extra ``bertscore``."""

import hashlib
import importlib.util
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.files import hash_file
from target_bench.core.metric import Floats, MetricDefinition, MetricSpec, by_name
from target_bench.metrics.text import MeanOverAnswers, TextAnswers

SPEC = MetricSpec(
    "bertscore",
    "BERTScore",
    "F measure of BERTScore, best reference (needs --task qa:bertscore=MODEL)",
    "Zhang et al. 2020",
    scores="texts",
    needs=("references", "the extra bertscore", "a model"),
    rank=6,
)


class BERTScore(MeanOverAnswers):
    """The F measure of BERTScore (Zhang et al. 2020), best reference, mean over queries.

    As the package bert-score computes it, without idf weights and without rescaling. An empty
    answer or reference scores 0.

    Args:
        model: a name on the Hugging Face hub, or a folder; perhaps with ``@`` and the number of
            the hidden layer that is compared (default: what bert-score knows for the model).
        reading: how the answers were read, for the signature; empty if they are taken whole.
    """

    def __init__(self, model: str, reading: str = "") -> None:
        name, layer = _parse_model(model)
        self._scorer = _load_scorer(name, layer)
        used = ("bert-score", "transformers")
        packages = "|".join(f"{package}=={version(package)}" for package in used)
        which = f"model:{_identify(name)}|layer:{layer or 'default'}"
        description = f"F measure, best reference|{which}|idf:no|rescaled:no|{packages}"
        super().__init__(SPEC, description, self._score_answers, reading)

    def _score_answers(self, examples: TextAnswers) -> Floats:
        queries = enumerate(zip(examples.readable, examples.references, strict=True))
        pairs = [
            (row, text, reference)
            for row, (text, references) in queries
            for reference in references
            if text and text.strip() and reference.strip()
        ]
        best = np.zeros(len(examples.texts))
        if pairs:
            rows, texts, references = map(list, zip(*pairs, strict=True))
            np.maximum.at(best, rows, _compute_f(self._scorer, texts, references))
        return best


class RescaledBERTScore:
    """The F measure of BERTScore, rescaled with bert-score's baseline of English, from 0 to 1.

    Args:
        model: as for ``BERTScore``; a folder is called as the model is in bert-score.

    Attributes:
        settings: the model, its layer and its baseline, for a signature.
    """

    def __init__(self, model: str) -> None:
        name, layer = _parse_model(model)
        import bert_score

        folder = Path(bert_score.__file__).parent / "rescale_baseline" / "en"
        baseline = folder / f"{Path(name).name if Path(name).is_dir() else name}.tsv"
        if not baseline.is_file():
            names = ", ".join(sorted(path.stem for path in folder.glob("*.tsv")))
            raise ConfigError(
                f"model={model}: bert-score has no baseline of it, by which scores are "
                f"rescaled. Name one of {names}, or a folder of that name"
            )
        self.settings = (
            f"model:{_identify(name)}|layer:{layer or 'default'}|baseline:{baseline.stem}"
        )
        self._scorer = _load_scorer(
            name, layer, lang="en", rescale_with_baseline=True, baseline_path=str(baseline)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of PyTorch, at an array that pandas keeps read-only
            self._scorer.baseline_vals  # noqa: B018 (it is read once)

    def scores(self, texts: list[str], references: list[str]) -> Floats:
        """Return (n,) the score of each text with its reference."""
        return np.clip(_compute_f(self._scorer, texts, references), 0.0, 1.0)


def _parse_model(model: str) -> tuple[str, int | None]:
    """Return name and layer of a model."""
    if importlib.util.find_spec("bert_score") is None:
        raise MissingExtraError("bert-score", "bertscore", "the metric bertscore")
    name, _, layer = model.partition("@")
    if layer and not layer.isdigit():
        raise ConfigError(f"bertscore={model}: expected a number after @, as in model@17")
    return name, int(layer) if layer else None


def _compute_f(scorer: Any, texts: list[str], references: list[str]) -> Floats:
    _, _, f_measures = scorer.score(texts, references)
    f_scores: Floats = f_measures.numpy().astype(np.float64)
    return f_scores


def _load_scorer(model: str, layer: int | None, **settings: Any) -> Any:
    from bert_score import BERTScorer

    try:
        return BERTScorer(model_type=model, num_layers=layer, **settings)
    except (OSError, ValueError, KeyError, AssertionError) as error:
        raise ConfigError(
            f"bertscore={model}: bert-score cannot load it ({error}). A model that it does not "
            "know needs its layer, as in folder@6."
        ) from error


DEFINITIONS = by_name(MetricDefinition(SPEC, BERTScore))


def _identify(model: str) -> str:
    """Return the name of a model on the hub, or a hash of what is in a folder."""
    folder = Path(model)
    if not folder.is_dir():
        return model
    files = [path for path in sorted(folder.iterdir()) if path.is_file()]
    whole = "".join(f"{path.name}:{hash_file(path)}" for path in files)
    return hashlib.sha256(whole.encode()).hexdigest()[:12]
