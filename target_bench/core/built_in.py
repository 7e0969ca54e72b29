"""The names of the plug-ins of this package, and where they are; no other module knows them."""

from typing import Literal

Kind = Literal["retriever", "generator", "corpus", "task", "encoder", "index", "metric"]

RANKING_TASK = "retrieval"
"""The task about rankings: every run that retrieves is scored by it.

Its name is also what the identity of answers calls the rankings that they are built on.
"""

SETS_TASK = f"{RANKING_TASK}:sets=true"
"""The same with the metrics of sets, for retrievers that choose how many tables to return."""

SQL_TASK = "text_to_sql"
"""The task of answers in SQL, which need databases."""

ANSWER_TASK = "question_answering"
"""The task of answers in words, whose prompt and examples serve tasks that have none."""

ORACLE, NO_CONTEXT = "oracle", "no-context"
BOUNDS = (ORACLE, NO_CONTEXT)
"""The bounds: retrievers that no system can beat, or fall below (``identity.is_bound``)."""

UNLISTED: dict[Kind, dict[str, str]] = {
    "retriever": {
        ORACLE: "target_bench.retrievers.bounds:Oracle",
        NO_CONTEXT: "target_bench.retrievers.bounds:NoContext",
    },
}
"""Names that work and stand in no list: the bounds."""

METRIC_MODULES = (
    "target_bench.metrics.retrieval",
    "target_bench.metrics.text",
    "target_bench.metrics.denotation",
    "target_bench.metrics.bertscore",
    "target_bench.models.text_metrics",
    "target_bench.metrics.classification",
    "target_bench.metrics.sql",
    "target_bench.tables.table_metrics",
    "target_bench.tables.descriptions",
)
"""The modules of metrics: each declares its own in ``DEFINITIONS``, by their names."""

BUILT_IN: dict[Kind, dict[str, str]] = {
    "retriever": {
        "bm25": "target_bench.retrievers.bm25:BM25",
        "tfidf": "target_bench.retrievers.tfidf:TfIdf",
        "lsa": "target_bench.retrievers.lsa:LSA",
        "random": "target_bench.retrievers.random:Random",
        "dense": "target_bench.retrievers.dense:Dense",
        "hybrid": "target_bench.retrievers.hybrid:Hybrid",
        "rerank": "target_bench.retrievers.rerank:Rerank",
        "rows": "target_bench.retrievers.rows:Rows",
        "best": "target_bench.retrievers.rows:Best",
        "langchain": "target_bench.retrievers.langchain:LangChainRetriever",
        "llama-index": "target_bench.retrievers.llama_index:LlamaIndexRetriever",
    },
    "encoder": {
        "sentence-transformers": (
            "target_bench.models.encoders.sentence_transformers:SentenceTransformers"
        ),
        "minilm": "target_bench.models.encoders.sentence_transformers:MiniLM",
        "openai": "target_bench.models.encoders.openai:OpenAIEmbeddings",
    },
    "index": {
        "exact": "target_bench.search.indexes.exact:Exact",
        "faiss-flat": "target_bench.search.indexes.faiss:FaissFlat",
        "faiss-hnsw": "target_bench.search.indexes.faiss:FaissHNSW",
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
        "rotowire": "target_bench.corpora.rotowire:RotoWire",
        "wikitabletext": "target_bench.corpora.wikitabletext:WikiTableText",
        "e2e": "target_bench.corpora.wikitabletext:E2E",
        "wikibio": "target_bench.corpora.wikitabletext:WikiBio",
        "struc-bench": "target_bench.corpora.struc_bench:StrucBench",
        "totto": "target_bench.corpora.totto:ToTTo",
        "tabxbench": "target_bench.corpora.tabxbench:TabXBench",
    },
    "task": {
        RANKING_TASK: "target_bench.tasks.retrieval:TableRetrieval",
        "question_answering": "target_bench.tasks.question_answering:QuestionAnswering",
        "fact_verification": "target_bench.tasks.fact_verification:FactVerification",
        SQL_TASK: "target_bench.tasks.text_to_sql:TextToSQL",
        "text_to_table": "target_bench.tasks.text_to_table:TextToTable",
        "table_to_text": "target_bench.tasks.table_to_text:TableToText",
    },
}
