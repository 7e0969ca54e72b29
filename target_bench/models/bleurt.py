"""BLEURT of generated text, by a checkpoint for transformers; needs the extra ``bleurt``."""

import importlib.util
from importlib.metadata import version

import numpy as np

from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.metric import Floats, MetricDefinition, MetricSpec, by_name
from target_bench.metrics.text import JudgedAnswers, MeanOverAnswers
from target_bench.models.cross_encoder import Scorer
from target_bench.tables.descriptions import JudgedDescriptions, references_of
from target_bench.tables.totto_text import NULL

SPEC = MetricSpec(
    "bleurt",
    "BLEURT",
    "mean BLEURT over references, ToTTo's script (needs --task table_to_text:bleurt=FOLDER)",
    "Sellam et al. 2020; ToTTo's totto_bleurt_eval.py",
    scores="texts",
    scale="unbounded",
    needs=("references", "the extra bleurt", "a checkpoint"),
    tolerance=0.001,
)


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

    Raises:
        ConfigError: there is no such model, or it does not give one score.
        MissingExtraError: the package sentence-transformers is missing.
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
        packages = "|".join(f"{name}=={version(name)}" for name in ("transformers", "torch"))
        self._failed = "" if as_written else NULL
        prepared = f"case:lc|detok:moses-en|{references_of(n_references)}"
        description = (
            f"mean over references|{'as written' if as_written else prepared}"
            f"|reference first|model:{self._scorer.revision()[:12]}|{packages}"
        )
        super().__init__(SPEC, description, self._score_answers, reading)

    def _score_answers(self, examples: JudgedAnswers) -> Floats:
        compared = examples.compared if isinstance(examples, JudgedDescriptions) else examples
        both = list(zip(compared.readable, compared.references, strict=True))
        pairs = [
            (reference, self._failed if text is None else text)
            for text, accepted in both
            for reference in accepted
        ]
        numbers = np.array([len(accepted) for _, accepted in both])
        places = np.repeat(np.arange(len(both)), numbers)
        sums = np.bincount(places, self._scorer.scores(pairs), len(both))
        means: Floats = sums / numbers
        return means


DEFINITIONS = by_name(MetricDefinition(SPEC, BLEURT))
