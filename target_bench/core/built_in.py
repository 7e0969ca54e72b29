"""The names of the plug-ins of this package, and where they are; no other module knows them."""

from typing import Literal

Kind = Literal["retriever", "generator", "corpus", "task", "encoder", "index", "metric"]

RANKING_TASK = "retrieval"
"""The task about rankings: every run that retrieves is scored by it.

Its name is also what the identity of answers calls the rankings that they are built on.
"""

UNLISTED: dict[Kind, dict[str, str]] = {
    "corpus": {
        name: f"target_bench.corpora.target_names:{cls}"
        for name, cls in {
            "spider-test": "SpiderTest",
            "spider-train": "SpiderTrain",
            "spider-validation": "SpiderValidation",
            "bird-validation": "BirdValidation",
            "infiagentda": "InfiAgentDA",
            "gittables": "GitTables",
        }.items()
    },
}
"""Names of the original TARGET package, which work and stand in no list of corpora."""

BUILT_IN: dict[Kind, dict[str, str]] = {
    "retriever": {
        "bm25": "target_bench.retrievers.bm25:BM25",
        "bm25f": "target_bench.retrievers.bm25f:BM25F",
        "tfidf": "target_bench.retrievers.tfidf:TfIdf",
        "lsa": "target_bench.retrievers.lsa:LSA",
        "random": "target_bench.retrievers.random:Random",
        "dense": "target_bench.retrievers.dense:Dense",
        "hybrid": "target_bench.retrievers.hybrid:Hybrid",
        "chunks": "target_bench.retrievers.chunks:Chunks",
        "rerank": "target_bench.retrievers.rerank:Rerank",
        "adaptive": "target_bench.retrievers.adaptive:Adaptive",
        "within-database": "target_bench.retrievers.within_database:WithinDatabase",
        "joins": "target_bench.retrievers.joins:Joins",
        "multi-vector": "target_bench.retrievers.multi_vector:MultiVector",
        "late-interaction": "target_bench.retrievers.late_interaction:LateInteraction",
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
        "template": "target_bench.generators.template:Template",
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
        "struc-bench": "target_bench.corpora.struc_bench:StrucBench",
        "totto": "target_bench.corpora.totto:ToTTo",
        "beaver": "target_bench.corpora.beaver:Beaver",
        "spider2-lite": "target_bench.corpora.spider2_lite:Spider2Lite",
        "wtq": "target_bench.corpora.wtq:WikiTableQuestions",
        "infotabs": "target_bench.corpora.infotabs:InfoTabS",
        "infiagent": "target_bench.corpora.infiagent:InfiAgentDABench",
        "wikitables2019": "target_bench.corpora.wikitables2019:WikiTables2019",
        "tabxbench": "target_bench.corpora.tabxbench:TabXBench",
    },
    "task": {
        RANKING_TASK: "target_bench.tasks.retrieval:TableRetrieval",
        "question_answering": "target_bench.tasks.question_answering:QuestionAnswering",
        "fact_verification": "target_bench.tasks.fact_verification:FactVerification",
        "text_to_sql": "target_bench.tasks.text_to_sql:TextToSQL",
        "text_to_table": "target_bench.tasks.text_to_table:TextToTable",
        "table_answering": "target_bench.tasks.text_to_table:TableAnswering",
        "table_to_text": "target_bench.tasks.table_to_text:TableToText",
    },
    "metric": {
        "recall": "target_bench.metrics.retrieval:RECALL",
        "recall[dup]": "target_bench.metrics.retrieval:RECALL_DUP",
        "recall_micro": "target_bench.metrics.retrieval:RECALL_MICRO",
        "capped_recall": "target_bench.metrics.retrieval:CAPPED_RECALL",
        "capped_recall[target]": "target_bench.metrics.retrieval:CAPPED_RECALL_TARGET",
        "full_recall": "target_bench.metrics.retrieval:FULL_RECALL",
        "success": "target_bench.metrics.retrieval:SUCCESS",
        "precision": "target_bench.metrics.retrieval:PRECISION",
        "ndcg": "target_bench.metrics.retrieval:NDCG",
        "mrr": "target_bench.metrics.retrieval:MRR",
        "map": "target_bench.metrics.retrieval:MAP",
        "r_precision": "target_bench.metrics.retrieval:R_PRECISION",
        "recall[db]": "target_bench.metrics.retrieval:RECALL_DB",
        "mrr[db]": "target_bench.metrics.retrieval:MRR_DB",
        "set_precision": "target_bench.metrics.table_sets:SET_PRECISION",
        "set_recall": "target_bench.metrics.table_sets:SET_RECALL",
        "set_f1": "target_bench.metrics.table_sets:SET_F1",
        "complete_recall": "target_bench.metrics.table_sets:COMPLETE_RECALL",
        "set_size": "target_bench.metrics.table_sets:SET_SIZE",
        "column_recall": "target_bench.metrics.table_sets:COLUMN_RECALL",
        "judged": "target_bench.metrics.pooled:JUDGED",
        "bpref": "target_bench.metrics.pooled:BPREF",
        "sacrebleu": "target_bench.metrics.text:SACREBLEU",
        "chrf": "target_bench.metrics.text:CHRF",
        "rouge1": "target_bench.metrics.text:ROUGE_1",
        "rouge2": "target_bench.metrics.text:ROUGE_2",
        "rougeL": "target_bench.metrics.text:ROUGE_L",
        "exact_match": "target_bench.metrics.text:EXACT_MATCH",
        "token_f1": "target_bench.metrics.text:TOKEN_F1",
        "denotation": "target_bench.metrics.denotation:DENOTATION",
        "bertscore": "target_bench.metrics.bertscore:BERT_SCORE",
        "bleurt": "target_bench.components.bleurt:DEFINITION",
        "accuracy": "target_bench.metrics.classification:ACCURACY",
        "accuracy[answered]": "target_bench.metrics.classification:ACCURACY_ANSWERED",
        "precision_weighted": "target_bench.metrics.classification:PRECISION_WEIGHTED",
        "precision_weighted[answered]": (
            "target_bench.metrics.classification:PRECISION_WEIGHTED_ANSWERED"
        ),
        "recall_weighted": "target_bench.metrics.classification:RECALL_WEIGHTED",
        "recall_weighted[answered]": "target_bench.metrics.classification:RECALL_WEIGHTED_ANSWERED",
        "f1_weighted": "target_bench.metrics.classification:F1_WEIGHTED",
        "f1_weighted[answered]": "target_bench.metrics.classification:F1_WEIGHTED_ANSWERED",
        "precision_macro": "target_bench.metrics.classification:PRECISION_MACRO",
        "precision_macro[answered]": "target_bench.metrics.classification:PRECISION_MACRO_ANSWERED",
        "recall_macro": "target_bench.metrics.classification:RECALL_MACRO",
        "recall_macro[answered]": "target_bench.metrics.classification:RECALL_MACRO_ANSWERED",
        "f1_macro": "target_bench.metrics.classification:F1_MACRO",
        "f1_macro[answered]": "target_bench.metrics.classification:F1_MACRO_ANSWERED",
        "ex[bird]": "target_bench.metrics.sql:EX_BIRD",
        "ex[spider]": "target_bench.metrics.sql:EX_SPIDER",
        "ex[multiset]": "target_bench.metrics.sql:EX_MULTISET",
        "soft_f1": "target_bench.metrics.sql:SOFT_F1",
        "r_ves": "target_bench.metrics.sql:R_VES",
        "ves": "target_bench.metrics.sql:VES",
        "cell_f1": "target_bench.metrics.tables.table_metrics:CELL_F1",
        "cell_precision": "target_bench.metrics.tables.table_metrics:CELL_PRECISION",
        "cell_recall": "target_bench.metrics.tables.table_metrics:CELL_RECALL",
        "row_header_f1": "target_bench.metrics.tables.table_metrics:ROW_HEADER_F1",
        "row_header_precision": "target_bench.metrics.tables.table_metrics:ROW_HEADER_PRECISION",
        "row_header_recall": "target_bench.metrics.tables.table_metrics:ROW_HEADER_RECALL",
        "column_header_f1": "target_bench.metrics.tables.table_metrics:COLUMN_HEADER_F1",
        "column_header_precision": (
            "target_bench.metrics.tables.table_metrics:COLUMN_HEADER_PRECISION"
        ),
        "column_header_recall": "target_bench.metrics.tables.table_metrics:COLUMN_HEADER_RECALL",
        "cell_f1[chrf]": "target_bench.metrics.tables.table_metrics:CELL_F1_CHRF",
        "cell_precision[chrf]": "target_bench.metrics.tables.table_metrics:CELL_PRECISION_CHRF",
        "cell_recall[chrf]": "target_bench.metrics.tables.table_metrics:CELL_RECALL_CHRF",
        "row_header_f1[chrf]": "target_bench.metrics.tables.table_metrics:ROW_HEADER_F1_CHRF",
        "row_header_precision[chrf]": (
            "target_bench.metrics.tables.table_metrics:ROW_HEADER_PRECISION_CHRF"
        ),
        "row_header_recall[chrf]": (
            "target_bench.metrics.tables.table_metrics:ROW_HEADER_RECALL_CHRF"
        ),
        "column_header_f1[chrf]": "target_bench.metrics.tables.table_metrics:COLUMN_HEADER_F1_CHRF",
        "column_header_precision[chrf]": (
            "target_bench.metrics.tables.table_metrics:COLUMN_HEADER_PRECISION_CHRF"
        ),
        "column_header_recall[chrf]": (
            "target_bench.metrics.tables.table_metrics:COLUMN_HEADER_RECALL_CHRF"
        ),
        "h_content[v2]": "target_bench.metrics.tables.table_metrics:H_CONTENT_V2",
        "h_structure[v2]": "target_bench.metrics.tables.table_metrics:H_STRUCTURE_V2",
        "valid[strict]": "target_bench.metrics.tables.table_metrics:VALID_STRICT",
        "valid[lenient]": "target_bench.metrics.tables.table_metrics:VALID_LENIENT",
        "h_content": "target_bench.metrics.tables.table_metrics:H_CONTENT",
        "h_structure": "target_bench.metrics.tables.table_metrics:H_STRUCTURE",
        "h_content[html]": "target_bench.metrics.tables.table_metrics:H_CONTENT_HTML",
        "h_structure[html]": "target_bench.metrics.tables.table_metrics:H_STRUCTURE_HTML",
        "h_content[latex]": "target_bench.metrics.tables.table_metrics:H_CONTENT_LATEX",
        "h_structure[latex]": "target_bench.metrics.tables.table_metrics:H_STRUCTURE_LATEX",
        "tabxeval": "target_bench.metrics.tables.table_metrics:TABXEVAL",
        "missing_rows": "target_bench.metrics.tables.table_metrics:MISSING_ROWS",
        "missing_columns": "target_bench.metrics.tables.table_metrics:MISSING_COLUMNS",
        "missing_cells": "target_bench.metrics.tables.table_metrics:MISSING_CELLS",
        "extra_rows": "target_bench.metrics.tables.table_metrics:EXTRA_ROWS",
        "extra_columns": "target_bench.metrics.tables.table_metrics:EXTRA_COLUMNS",
        "extra_cells": "target_bench.metrics.tables.table_metrics:EXTRA_CELLS",
        "partial_cells": "target_bench.metrics.tables.table_metrics:PARTIAL_CELLS",
        "p_content": "target_bench.metrics.tables.table_metrics:P_CONTENT",
        "p_structure": "target_bench.metrics.tables.table_metrics:P_STRUCTURE",
        "parent": "target_bench.metrics.descriptions.description_metrics:PARENT",
        "parent_precision": (
            "target_bench.metrics.descriptions.description_metrics:PARENT_PRECISION"
        ),
        "parent_recall": "target_bench.metrics.descriptions.description_metrics:PARENT_RECALL",
        "bleu[totto]": "target_bench.metrics.descriptions.description_metrics:BLEU_TOTTO",
        "bleu[cased]": "target_bench.metrics.descriptions.description_metrics:BLEU_CASED",
        "support[facts]": "target_bench.metrics.faithfulness.support_metrics:FACTS_SUPPORTED",
        "coverage[cells]": "target_bench.metrics.faithfulness.support_metrics:CELLS_COVERED",
        "support[judged]": "target_bench.metrics.faithfulness.support_metrics:FACTS_JUDGED",
        "support[cells]": "target_bench.metrics.faithfulness.support_metrics:CELLS_SUPPORTED",
        "coverage[facts]": "target_bench.metrics.faithfulness.support_metrics:FACTS_COVERED",
    },
}
