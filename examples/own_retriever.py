from target_bench import Corpus, Retriever, TableId, evaluate


class LastWord(Retriever):
    """Ranks tables by how densely the query's last word occurs in them."""

    def embed_corpus(self, corpus: Corpus) -> None:
        self.texts = {table.id: str([table.header, *table.rows]).lower() for table in corpus}

    def retrieve(self, query: str, top_k: int) -> list[tuple[TableId, float]]:
        word = query.lower().strip(" ?.").rpartition(" ")[2]
        hits = [
            (id, text.count(word) / len(text)) for id, text in self.texts.items() if word in text
        ]
        return sorted(hits, key=lambda hit: -hit[1])[:top_k]


if __name__ == "__main__":
    results = evaluate([LastWord(), "bm25"], "mini", top_k=[1, 10])
    print(results)
    print(results["LastWord"]["recall@10"])  # a number that prints its 95% interval
