"""BLEURT of generated text, by a checkpoint for transformers; needs the extra ``bleurt``."""

import importlib.util
from importlib.metadata import version

import numpy as np

from target_bench.components.cross_encoder import Scorer
from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.metric import MetricDefinition, MetricSpec
from target_bench.metrics.text import Floats, JudgedAnswers, MeanOverAnswers

SPEC = MetricSpec(
    "bleurt",
    "BLEURT",
    "mean BLEURT, best reference (needs --task table_to_text:bleurt=FOLDER)",
    "Sellam et al. 2020",
    of="texts",
    scale="unbounded",
    needs=("references", "the extra bleurt", "a checkpoint"),
    tolerance=0.001,
)


class BLEURT(MeanOverAnswers):
    """The score of a BLEURT checkpoint (Sellam et al. 2020), best reference, mean over queries.

    A checkpoint is one that transformers reads as a model for sequence classification with one
    output: BLEURT's own are TensorFlow's and have to be converted. It reads reference and answer in
    this order. Scores may be negative; an answer that failed is scored as an empty text.

    Args:
        model: a folder, or a name on the Hugging Face hub.
        reading: how the answers were read, for the signature; empty if they are taken whole.

    Raises:
        ConfigError: there is no such model, or it does not give one score.
        MissingExtraError: the package sentence-transformers is missing.
    """

    def __init__(self, model: str, reading: str = "") -> None:
        if importlib.util.find_spec("sentence_transformers") is None:
            raise MissingExtraError("sentence-transformers", "bleurt", "the metric bleurt")
        self._scorer = Scorer(model, None, None, 32, None, "float32")
        try:
            self._scorer.load()
        except ConfigError as error:
            raise ConfigError(
                f"bleurt={model}: {error}. Download a BLEURT checkpoint that was converted for "
                "transformers (BertForSequenceClassification with one output, as "
                "Elron/bleurt-base-512) and name its folder"
            ) from error
        packages = "|".join(f"{name}=={version(name)}" for name in ("transformers", "torch"))
        description = (
            f"best reference|reference first|model:{self._scorer.revision()[:12]}|{packages}"
        )
        super().__init__(SPEC, description, self._one, reading)

    def statistics(self, examples: JudgedAnswers) -> Floats:
        """Return (n, 2): the value of each answer, and 1."""
        both = zip(examples.texts, examples.references, strict=True)
        pairs = [
            (place, (reference, text or ""))
            for place, (text, references) in enumerate(both)
            for reference in references
        ]
        best = np.full(len(examples.texts), -np.inf)
        scores = self._scorer.scores([pair for _, pair in pairs])
        np.maximum.at(best, [place for place, _ in pairs], scores)
        return np.column_stack([best, np.ones(len(best))])

    def _one(self, text: str, reference: str) -> float:
        return float(self._scorer.scores([(reference, text)])[0])


DEFINITION = MetricDefinition(SPEC, BLEURT)
