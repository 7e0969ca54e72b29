"""The names of the plug-ins of this package, and where they are; no other module knows them."""

from typing import Literal

Kind = Literal["retriever", "generator", "corpus", "task", "encoder", "index"]

RANKING_TASK = "retrieval"
"""The task about rankings: every run that retrieves is scored by it.

Its name is also what the identity of answers calls the rankings that they are built on.
"""

BUILT_IN: dict[Kind, dict[str, str]] = {
    "retriever": {
        "bm25": "target_bench.retrievers.bm25:BM25",
        "bm25f": "target_bench.retrievers.bm25f:BM25F",
        "tfidf": "target_bench.retrievers.tfidf:TfIdf",
        "lsa": "target_bench.retrievers.lsa:LSA",
        "random": "target_bench.retrievers.random:Random",
        "dense": "target_bench.retrievers.dense:Dense",
        "hybrid": "target_bench.retrievers.hybrid:Hybrid",
        "rerank": "target_bench.retrievers.rerank:Rerank",
        "multi-vector": "target_bench.retrievers.multi_vector:MultiVector",
        "rows": "target_bench.retrievers.rows:Rows",
        "best": "target_bench.retrievers.rows:Best",
        "hyse": "target_bench.retrievers.hyse:HySE",
        "compat": "target_bench.retrievers.original_target:Compat",
        "langchain": "target_bench.retrievers.langchain:LangChainRetriever",
        "llama-index": "target_bench.retrievers.llama_index:LlamaIndexRetriever",
        "table-summaries": "target_bench.retrievers.table_summaries:TableSummaries",
        "qdrant": "target_bench.retrievers.qdrant:Qdrant",
    },
    "encoder": {
        "sentence-transformers": (
            "target_bench.components.encoders.sentence_transformers:SentenceTransformers"
        ),
        "minilm": "target_bench.components.encoders.sentence_transformers:MiniLM",
        "model2vec": "target_bench.components.encoders.model2vec:Model2Vec",
        "lsa": "target_bench.components.encoders.lsa:LSAEncoder",
        "openai": "target_bench.components.encoders.openai:OpenAIEmbeddings",
    },
    "index": {
        "exact": "target_bench.components.indexes.exact:Exact",
        "faiss-flat": "target_bench.components.indexes.faiss:FaissFlat",
        "faiss-hnsw": "target_bench.components.indexes.faiss:FaissHNSW",
        "faiss-ivf": "target_bench.components.indexes.faiss:FaissIVF",
        "hnswlib": "target_bench.components.indexes.hnswlib:HNSWLib",
        "torch": "target_bench.components.indexes.torch:Torch",
        "sharded": "target_bench.components.indexes.sharded:Sharded",
    },
    "generator": {
        "extractive": "target_bench.generators.extractive:Extractive",
        "replay": "target_bench.generators.replay:Replay",
        "openai": "target_bench.generators.openai:OpenAI",
        "langchain": "target_bench.generators.langchain:LangChain",
        "llama-index": "target_bench.generators.llama_index:LlamaIndex",
        "transformers": "target_bench.generators.transformers:Transformers",
    },
    "corpus": {
        "mini": "target_bench.corpora.mini.loader:Mini",
        "ottqa": "target_bench.corpora.ottqa:OTTQA",
        "fetaqa": "target_bench.corpora.fetaqa:FeTaQA",
        "tabfact": "target_bench.corpora.tabfact:TabFact",
        "spider": "target_bench.corpora.spider:Spider",
        "bird": "target_bench.corpora.bird:Bird",
    },
    "task": {
        RANKING_TASK: "target_bench.tasks.retrieval:TableRetrieval",
        "question_answering": "target_bench.tasks.question_answering:QuestionAnswering",
        "fact_verification": "target_bench.tasks.fact_verification:FactVerification",
        "text_to_sql": "target_bench.tasks.text_to_sql:TextToSQL",
    },
}
