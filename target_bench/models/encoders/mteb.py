"""Every model of MTEB's registry, with the prompts for queries and documents that MTEB gives it."""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.vectors import Encoder, TextKind, Vectors
from target_bench.models.encoders.encoder_checks import readable
from target_bench.models.encoders.weights import quietly


@dataclass(eq=False, repr=False)
class MTEBModel(Encoder):
    """A model as MTEB evaluates it: ``dense:encoder="mteb:model=intfloat/multilingual-e5-small"``.

    Needs: extra mteb; a model (download).

    ``mteb.get_model`` loads it and chooses its prompts, lengths and numbers; limits of a text's
    length are the model's own. A search model without vectors, such as a reranker, is refused.

    Args:
        model: its name in MTEB's registry.
        commit: of the weights; default: the one that MTEB's registry names.
        batch_size: texts encoded at once.

    Raises:
        MissingExtraError: mteb is not installed.
    """

    packages = ("mteb", "sentence-transformers", "transformers", "torch", "numpy")

    model: str
    commit: str | None = None
    batch_size: int = 64

    def __post_init__(self) -> None:
        if importlib.util.find_spec("mteb") is None:
            raise MissingExtraError("mteb", "mteb", "the encoder mteb")

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return the (n, d) vectors of the texts, in their order.

        Raises:
            ConfigError: there is no such model, or it has no vectors.
        """
        from datasets import Dataset
        from mteb.abstasks.task_metadata import TaskMetadata
        from mteb.types import PromptType
        from torch.utils.data import DataLoader

        read = [readable(text) for text in texts]
        task = TaskMetadata.model_construct(
            name="TableRetrieval", type="Retrieval", category="t2t", modalities=["text"]
        )
        with quietly():
            vectors = self.loaded.encode(
                DataLoader(Dataset.from_dict({"text": read}), batch_size=self.batch_size),
                task_metadata=task,
                hf_split="test",
                hf_subset="default",
                prompt_type=PromptType.query if kind == "query" else PromptType.document,
                batch_size=self.batch_size,
                show_progress_bar=False,
            )
        return np.asarray(vectors, dtype=np.float32).reshape(len(read), -1)

    def revision(self) -> str | None:
        """Return the commit of the weights; None where MTEB's registry names none."""
        commit: str | None = self.loaded.mteb_model_meta.revision
        return None if commit in (None, "no_revision_available") else commit

    @cached_property
    def loaded(self) -> Any:
        """The model.

        Raises:
            ConfigError: there is no such model, it cannot be loaded, or it has no vectors.
        """
        import mteb

        try:
            with quietly():
                model = mteb.get_model(self.model, revision=self.commit)
        except Exception as error:  # whatever the loader of one of some 500 models raises
            raise ConfigError(
                f"model={self.model!r}: MTEB cannot load it ({type(error).__name__}: "
                f"{str(error)[:300]}); mteb.get_model_metas() lists the names"
            ) from error
        if not callable(getattr(model, "encode", None)):
            raise ConfigError(f"model={self.model!r} has no vectors; name an encoder of MTEB")
        return model
