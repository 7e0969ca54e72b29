"""Fine-tunes the model of a retriever on questions and their tables."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from target_bench.core import registry
from target_bench.core.errors import ConfigError, StoreError, TargetBenchError
from target_bench.core.identity import plugin_identity
from target_bench.core.observer import Observer
from target_bench.core.schema import Dataset, Field, Format, RowLimit
from target_bench.core.version import __version__
from target_bench.data.table_text import Serializer
from target_bench.models.training import model_folder, training_loop, training_record
from target_bench.models.training.held_out import contents_of
from target_bench.models.training.model_kinds import KINDS, Kind, ModelKind, save
from target_bench.models.training.pairs import Pair, mined, used
from target_bench.models.training.training_loop import Course
from target_bench.models.training.training_record import Used
from target_bench.models.training.training_splits import Data, Splits, load
from target_bench.models.training.validation import DECISIVE, Validation


@dataclass(frozen=True, slots=True)
class Settings:
    """What is trained, and how.

    Args:
        base: the model to begin with: ``minilm``, or for ``dense`` any encoder that has
            ``trainable()``, such as ``sentence-transformers:model=...``; for the other kinds a
            folder or a name on the Hugging Face hub.
        negatives: the retriever whose best tables are hard negatives, with settings. Rerankers
            and late interaction are validated on its candidates.
        n_negatives: how many of them a question gets; 0 is none. Default: 1, for rerankers 4.
        max_tokens: of a text at most, in training and ever after; default: the base's limit.
        fields: what of a table is written.
        rows: how many rows of each table, as for ``dense``.
        format: how header and rows are written.
        course: epochs, batch size, learning rate and seed.
        kind: what the model is used for: ``dense``, ``late-interaction`` or ``reranker``.
    """

    base: str = "minilm"
    negatives: str = "bm25"
    n_negatives: int | None = None
    max_tokens: int | None = None
    fields: Sequence[Field] = ("title", "section", "header", "rows")
    rows: RowLimit = "auto"
    format: Format = "text"
    course: Course = field(default_factory=Course)
    kind: Kind = "dense"

    def __post_init__(self) -> None:
        least = 1 if self.model_kind.reads_pairs else 0
        if self.n_negatives is not None and self.n_negatives < least:
            raise ConfigError(
                f"n_negatives={self.n_negatives}: a number from {least} is needed for {self.kind}"
            )

    @property
    def model_kind(self) -> ModelKind:
        """What is known of this kind."""
        return KINDS[self.kind]

    @property
    def hard(self) -> int:
        """How many hard negatives a question gets."""
        return self.model_kind.negatives if self.n_negatives is None else self.n_negatives

    @property
    def writing(self) -> dict[str, Any]:
        """How tables are written, as settings of the retriever."""
        return {"fields": tuple(self.fields), "rows": self.rows, "format": self.format}


@dataclass(frozen=True, slots=True)
class Trained:
    """A model that was trained.

    Attributes:
        folder: where it lies.
        pairs: how many pairs it was trained on.
        losses: the mean loss of each epoch.
        validation: recall@1, recall@10 and MRR before training and after each epoch; empty without
            a validation split.
        epoch: the one that was kept; 0 is the base.
        left_out: which questions were left out, in a sentence for each split.
    """

    folder: Path
    pairs: int
    losses: tuple[float, ...]
    validation: tuple[Mapping[str, float], ...]
    epoch: int
    left_out: tuple[str, ...]


def train(
    data: Data,
    folder: str | Path,
    settings: Settings | None = None,
    observer: Observer | None = None,
) -> Trained:
    """Fine-tune a model and save it as a model of sentence-transformers.

    The same data, settings, versions and machine give the same weights on a CPU.

    Args:
        data: what is trained on, and what is kept out of it.
        folder: where the model goes; it must not be there, or be empty.
        settings: what is trained, and how.
        observer: is notified of progress and of what was left out.

    Raises:
        MissingExtraError: the packages of the base are not installed.
        ConfigError: an invalid corpus, split, model or setting, no question that is left,
            overlap in mode ``strict``, no hard negative for a reranker, or too little memory.
        DataError: files are missing or broken.
        StoreError: the folder cannot be written.
    """
    settings, observer = settings or Settings(), observer or Observer()
    write = Serializer(**settings.writing)
    base: Any = settings.model_kind.base(settings.base)
    with model_folder.whole(Path(folder)) as half:
        model = _model(base, settings)
        splits = load(data, observer)
        earlier = _earlier(base, splits, data.strict, observer)
        pairs = _pairs(data, splits, settings, write, observer)
        _tell_cut(model, pairs, settings.model_kind.reads_pairs, observer)
        best = _Best(model, splits.validation, settings, observer)
        loss = settings.model_kind.loss
        losses = training_loop.fit(model, pairs, settings.course, observer, best.look, loss)
        best.restore()
        observer.stage("save the model")
        uses = [*earlier, *(pair.used for pair in pairs), *_chosen_by(splits.validation)]
        about = {
            "base": _identity(base) | _record_of(base),
            "data": _data(data, splits),
            "settings": _plain(settings),
            "negatives": _identity(registry.create("retriever", settings.negatives)),
            "losses": [round(loss, 6) for loss in losses],
            "validation": best.scores,
            "epoch": best.epoch,
            "pairs": len(pairs),
            "target_bench": __version__,
        }
        _save(model, half, about, uses)
    place = Path(folder).expanduser().absolute()
    scores = tuple(best.scores)
    return Trained(place, len(pairs), tuple(losses), scores, best.epoch, splits.left_out)


def _model(base: Any, settings: Settings) -> Any:
    """Return the model to train, with the limit that was asked for; new layers by the seed."""
    if not callable(getattr(base, "trainable", None)):
        raise ConfigError(
            f"base={settings.base}: {type(base).__name__} cannot be trained; name minilm or "
            "sentence-transformers:model=path/or/name"
        )
    with training_loop.seeded(None, settings.course.seed):
        return base.trainable(settings.max_tokens)


def _pairs(
    data: Data, splits: Splits, settings: Settings, write: Serializer, observer: Observer
) -> list[Pair]:
    observer.stage(f"find hard negatives with {settings.negatives}")
    pairs = [
        pair
        for dataset in splits.train
        for pair in mined(
            dataset,
            splits.kept_out,
            write,
            settings.negatives,
            settings.hard,
            data.shared_tables,
        )
    ]
    if settings.model_kind.reads_pairs and not any(pair.negatives for pair in pairs):
        raise ConfigError(
            f"no question has a hard negative, from which a {settings.kind} learns: "
            f"{settings.negatives} ranks too few tables for {len(pairs):,} pairs"
        )
    few = sum(len(pair.negatives) < settings.hard for pair in pairs)
    if few:
        observer.warning(
            f"{few:,} of {len(pairs):,} pairs have fewer than {settings.hard} hard "
            f"negatives: {settings.negatives} ranks too few tables for them"
        )
    return pairs


def _tell_cut(model: Any, pairs: Sequence[Pair], joined: bool, observer: Observer) -> None:
    """Say how many tables, or pairs of question and table, are longer than the model reads."""
    read = [(pair.question, t.text) for pair in pairs for t in (pair.table, *pair.negatives)]
    texts = list(dict.fromkeys(read if joined else (text for _, text in read)))
    limit = model.max_seq_length
    tokens = model.tokenizer(texts, truncation=False, verbose=False)["input_ids"]
    n_cut = sum(len(found) > limit for found in tokens) if limit else 0
    if n_cut:
        what = "pairs of question and table" if joined else "tables"
        observer.warning(
            f"{n_cut:,} of {len(texts):,} {what} were cut to {limit} tokens; --max-tokens "
            "allows more"
        )


class _Best:
    """Keeps the weights of the epoch that does best on the validation splits."""

    def __init__(
        self, model: Any, datasets: Sequence[Dataset], settings: Settings, observer: Observer
    ) -> None:
        self.scores: list[dict[str, float]] = []
        self.epoch = settings.course.epochs
        self._model = model
        self._observer = observer
        self._weights: dict[str, Any] | None = None
        in_use = partial(settings.model_kind.in_use, model, settings.negatives, settings.writing)
        self._measure = Validation(in_use, datasets) if datasets else None
        self.look(0)

    def look(self, epoch: int) -> None:
        """Measure, and keep the weights if they are the best so far."""
        if self._measure is None:
            return
        self._observer.stage(f"validation after epoch {epoch}")
        self._model.eval()
        self.scores.append(self._measure.scores())
        earlier = [scores[DECISIVE] for scores in self.scores[:-1]]
        if all(self.scores[-1][DECISIVE] > value for value in earlier):
            self.epoch = epoch
            state = self._model.state_dict()
            self._weights = {name: value.detach().cpu().clone() for name, value in state.items()}

    def restore(self) -> None:
        """Give the model the weights that were kept."""
        if self._weights is not None:
            self._model.load_state_dict(self._weights)
        if self.epoch == 0:
            self._observer.warning(
                "no epoch does better on the validation split than the base: the model that is "
                "saved is the base"
            )


def _earlier(base: Any, splits: Splits, strict: bool, observer: Observer) -> list[Used]:
    """List the data that the base was trained on before, as far as its folder says."""
    folder = base.weights_folder()
    if folder is None or not training_record.is_recorded(folder):
        return []
    pairs = training_record.read_pairs(folder)
    n_questions, n_tables = splits.kept_out.overlapping(pairs)
    if n_questions or n_tables:
        found = (
            f"the base in {folder} was itself trained on, or chosen by, {n_questions:,} questions "
            f"and {n_tables:,} gold tables of {', '.join(splits.kept_out.names)}"
        )
        if strict:
            raise ConfigError(f"{found}. Begin with another base, or leave out --strict")
        observer.warning(found)
    return pairs


def _chosen_by(datasets: Sequence[Dataset]) -> list[Used]:
    found = []
    for dataset in datasets:
        contents = contents_of(dataset)
        found += [
            used(dataset, query, table, contents, use="validation")
            for query in dataset.queries
            for table in query.gold
        ]
    return found


def _identity(plugin: object) -> dict[str, Any]:
    return plugin_identity(plugin)[0]


def _record_of(base: Any) -> dict[str, Any]:
    """Return the record of the base, if it was trained here; else an empty one."""
    folder = base.weights_folder()
    if folder is None or not training_record.is_recorded(folder):
        return {}
    return {"trained": training_record.read(folder)}


def _data(data: Data, splits: Splits) -> dict[str, Any]:
    return {
        "train": [_described(dataset) for dataset in splits.train],
        "validation": [_described(dataset) for dataset in splits.validation],
        "kept_out": list(splits.kept_out.names),
        "left_out": list(splits.left_out),
        "shared_tables": data.shared_tables,
        "limit": data.limit,
    }


def _described(dataset: Dataset) -> dict[str, Any]:
    return {
        "corpus": dataset.info.name,
        "split": dataset.split,
        "corpus_fingerprint": dataset.corpus.fingerprint,
        "licence": dataset.info.licence,
        "tables": len(dataset.corpus),
        "queries": len(dataset.queries),
    }


def _plain(settings: Settings) -> dict[str, Any]:
    """Return the settings as JSON; those of the course stand among the others."""
    found = asdict(settings)
    own = {"fields": list(settings.fields), "n_negatives": settings.hard}
    return {**found, **found.pop("course"), **own}


def _save(model: Any, folder: Path, about: Mapping[str, Any], uses: Sequence[Used]) -> None:
    try:
        save(model, folder)
        training_record.write(folder, about, uses)
    except TargetBenchError:
        raise
    except OSError as error:
        raise StoreError(f"{folder.parent}: the model cannot be written ({error})") from error
