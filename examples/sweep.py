# %% [markdown]
# # A sweep in a notebook
#
# This notebook writes a retriever in a cell, tries its settings on `mini`, a corpus that is part of the package,
# compares the best with a built-in retriever, and looks at the questions that it loses. It needs
# `pip install pandas`, and no key, GPU or data. Its source is
# [examples/sweep.py](https://github.com/target-bench/target-bench/blob/main/examples/sweep.py).

# %%
import re
from collections import Counter

from target_bench import Corpus, Retriever, TableId, compare, evaluate, load

mini = load("mini")
mini

# %% [markdown]
# A table that answers the first question:

# %%
mini.corpus[mini.queries[0].gold[0]]

# %% [markdown]
# A class in a cell is identified by its source. Running the cells again reuses the stored runs; editing the
# class, or a function that it names, makes new ones. A class that names a variable of a cell is never reused.


# %%
def words(text: object) -> set[str]:
    return set(re.findall(r"\w+", str(text).lower()))


class SharedWords(Retriever):
    """Ranks tables by the words that they share with the question."""

    def __init__(self, rare: float = 1.0) -> None:
        self.rare = rare  # how much more rare words count than frequent ones

    def embed_corpus(self, corpus: Corpus) -> None:
        self.words = {t.id: words([t.header, t.rows, *t.context.values()]) for t in corpus}
        self.tables_with = Counter(word for table in self.words.values() for word in table)

    def retrieve(self, query: str, top_k: int) -> list[tuple[TableId, float]]:
        asked, scores = words(query), {}
        for table_id, table in self.words.items():
            weights = [self.tables_with[word] ** -self.rare for word in asked & table]
            scores[table_id] = sum(weights) / len(table) ** 0.5
        return sorted(scores.items(), key=lambda scored: -scored[1])[:top_k]


# %% [markdown]
# A sweep is a list of retrievers:

# %%
results = evaluate(["bm25", *(SharedWords(rare) for rare in (0.0, 0.5, 1.0, 2.0))], "mini")
results

# %%
results["bm25"]["recall@10"]

# %% [markdown]
# The paired test reads the stored values of every question; nothing runs again. The first run is the baseline:

# %%
compare(list(results), ["recall@10"])

# %% [markdown]
# `to_pandas` has a row for each question and run: gold tables, ranking, and every metric. These are questions
# that `bm25` answers better:

# %%
frame = results.to_pandas()
by_run = frame.pivot(index="query", columns="retriever", values="recall@10")
by_run.loc[by_run["bm25"] > by_run["SharedWords"], ["bm25", "SharedWords"]].head()
