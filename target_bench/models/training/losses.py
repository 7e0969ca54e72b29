"""What training makes smaller: losses of encoders, of late interaction and of rerankers.

Encoders and late interaction have the multiple negatives ranking loss of Henderson et al. 2017
(arXiv:1705.00652, section 4.4) on scores from -1 to 1 times 20, as
``MultipleNegativesRankingLoss`` of sentence-transformers: a question has to find its table among
all tables of its batch, the hard negatives of every question included. Tables that are gold for a
question, or copies of such, are not negatives for it; a table that occurs several times in a batch
is encoded once.
"""

from collections.abc import Callable, Sequence
from typing import Any

from target_bench.models.training.pairs import Candidate, Pair

SCALE = 20.0
"""What scores are multiplied by: one over the temperature."""

Score = Callable[[Any, list[str], list[str]], Any]
"""Model, questions and texts of tables -> the (questions, tables) scores, from -1 to 1."""


def cosines(model: Any, questions: list[str], texts: list[str]) -> Any:
    """Return the cosines of a SentenceTransformer's vectors."""
    return _vectors(model, questions, "query") @ _vectors(model, texts, "document").T


def max_sims(model: Any, questions: list[str], texts: list[str]) -> Any:
    """Return the mean MaxSim of a MultiVectorEncoder's vectors (Khattab and Zaharia 2020).

    The mean, over the tokens of the question, of the largest cosine with a token of the table.
    """
    import torch

    asked, counted = _tokens(model, questions, "query")
    found, real = _tokens(model, texts, "document")
    products = torch.einsum("qid,tjd->qtij", asked, found)
    best = products.masked_fill(~real[None, :, None, :], -torch.inf).amax(dim=3)
    sums = best.masked_fill(~counted[:, None, :], 0.0).sum(dim=2)
    return sums / counted.sum(dim=1, keepdim=True)


def among_batch(score: Score) -> Callable[[Any, Sequence[Pair]], Any]:
    """Return the multiple negatives ranking loss on these scores."""

    def loss(model: Any, batch: Sequence[Pair]) -> Any:
        import torch

        tables = list(dict.fromkeys(t for pair in batch for t in (pair.table, *pair.negatives)))
        place = {table: i for i, table in enumerate(tables)}
        found = score(model, [pair.question for pair in batch], [t.text for t in tables])
        targets = [place[pair.table] for pair in batch]
        hidden = [_hidden(pair, tables) for pair in batch]
        mask = torch.tensor(hidden, dtype=torch.bool, device=found.device)
        scores = (SCALE * found).float().masked_fill(mask, -torch.inf)
        return torch.nn.functional.cross_entropy(
            scores, torch.tensor(targets, device=scores.device)
        )

    return loss


def among_own(model: Any, batch: Sequence[Pair]) -> Any:
    """Return the cross-entropy of each gold table among the question's own hard negatives.

    The localized contrastive estimation of Gao, Dai and Callan 2021 (arXiv:2101.08751), for a
    CrossEncoder that gives one score. A question without negatives counts 0.
    """
    import torch

    lists = [(pair.question, [pair.table, *pair.negatives]) for pair in batch]
    width = max(len(tables) for _, tables in lists)
    texts = [(question, table.text) for question, tables in lists for table in tables]
    found = model(_moved(model, model.preprocess(texts)))["scores"].float().flatten()
    scores = torch.full((len(lists), width), -torch.inf, device=found.device)
    there = [[i < len(tables) for i in range(width)] for _, tables in lists]
    scores = scores.masked_scatter(torch.tensor(there, device=found.device), found)
    targets = torch.zeros(len(lists), dtype=torch.long, device=found.device)
    return torch.nn.functional.cross_entropy(scores, targets)


def _hidden(pair: Pair, tables: Sequence[Candidate]) -> list[bool]:
    """Return which tables are not negatives for a question though not its target."""
    return [table.content in pair.gold and table != pair.table for table in tables]


def _vectors(model: Any, texts: list[str], name: str) -> Any:
    """Return the (n, d) vectors of length 1, with gradients."""
    import torch

    vectors = _outputs(model, texts, name)["sentence_embedding"]
    return torch.nn.functional.normalize(vectors, dim=1)


def _tokens(model: Any, texts: list[str], name: str) -> tuple[Any, Any]:
    """Return the (n, tokens, d) vectors of length 1, with gradients, and which of them count."""
    import torch

    found = _outputs(model, texts, name)
    vectors = torch.nn.functional.normalize(found["token_embeddings"], dim=2)
    return vectors, found["attention_mask"].bool()


def _outputs(model: Any, texts: list[str], name: str) -> Any:
    features = model.preprocess(texts, prompt=model.prompts.get(name) or None, task=name)
    return model(_moved(model, features), task=name)


def _moved(model: Any, features: Any) -> dict[str, Any]:
    import torch

    return {
        key: value.to(model.device) if isinstance(value, torch.Tensor) else value
        for key, value in features.items()
    }
