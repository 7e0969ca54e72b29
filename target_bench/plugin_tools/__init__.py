"""What a plug-in may use beyond the contracts of ``target_bench``, loaded on first use.

Contributed plug-ins import from ``target_bench`` and from here, and from nothing else of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from target_bench.core.cache_use import note as note_cached
    from target_bench.core.contract import check_generator
    from target_bench.core.credentials import looks_secret, without_secrets
    from target_bench.core.identity import plugin_identity
    from target_bench.core.ranking import Ranking, best_cosines
    from target_bench.core.registry import part
    from target_bench.core.release import decode, field, texts
    from target_bench.core.schema import Field, Format, RowLimit
    from target_bench.data.formats.csv_files import csv_grid
    from target_bench.data.table_text import cell_text, first_rows
    from target_bench.data.tables import MemoryCorpus
    from target_bench.models.encoders.encoder_checks import readable
    from target_bench.models.encoders.retriever_encoding import Encoding
    from target_bench.models.encoders.sentence_transformers import minilm_model
    from target_bench.models.encoders.weights import LocalModel, quietly
    from target_bench.models.encoders.weights import module_types as saved_modules
    from target_bench.models.generator_calls import ask_generator
    from target_bench.models.prompts.schema_prompting import create_statement
    from target_bench.models.query_expansion import QueryExpansion
    from target_bench.models.vector_database import VectorDatabase
    from target_bench.search.fusion import Fusion, Method, Scale
    from target_bench.search.nested import Candidates, InnerRetriever, Wrapper

_HOME = {
    "Candidates": "search.nested",
    "Encoding": "models.encoders.retriever_encoding",
    "Field": "core.schema",
    "Format": "core.schema",
    "Fusion": "search.fusion",
    "InnerRetriever": "search.nested",
    "LocalModel": "models.encoders.weights",
    "MemoryCorpus": "data.tables",
    "Method": "search.fusion",
    "QueryExpansion": "models.query_expansion",
    "Ranking": "core.ranking",
    "RowLimit": "core.schema",
    "Scale": "search.fusion",
    "VectorDatabase": "models.vector_database",
    "Wrapper": "search.nested",
    "ask_generator": "models.generator_calls",
    "best_cosines": "core.ranking",
    "cell_text": "data.table_text",
    "check_generator": "core.contract",
    "create_statement": "models.prompts.schema_prompting",
    "csv_grid": "data.formats.csv_files",
    "decode": "core.release",
    "field": "core.release",
    "first_rows": "data.table_text",
    "looks_secret": "core.credentials",
    "minilm_model": "models.encoders.sentence_transformers",
    "note_cached": "core.cache_use:note",
    "part": "core.registry",
    "plugin_identity": "core.identity",
    "quietly": "models.encoders.weights",
    "readable": "models.encoders.encoder_checks",
    "saved_modules": "models.encoders.weights:module_types",
    "texts": "core.release",
    "without_secrets": "core.credentials",
}
"""Name -> its module, and what it is called there if that is another name."""

__all__ = [
    "Candidates",
    "Encoding",
    "Field",
    "Format",
    "Fusion",
    "InnerRetriever",
    "LocalModel",
    "MemoryCorpus",
    "Method",
    "QueryExpansion",
    "Ranking",
    "RowLimit",
    "Scale",
    "VectorDatabase",
    "Wrapper",
    "ask_generator",
    "best_cosines",
    "cell_text",
    "check_generator",
    "create_statement",
    "csv_grid",
    "decode",
    "field",
    "first_rows",
    "looks_secret",
    "minilm_model",
    "note_cached",
    "part",
    "plugin_identity",
    "quietly",
    "readable",
    "saved_modules",
    "texts",
    "without_secrets",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, there = _HOME[name].partition(":")
    return getattr(import_module(f"target_bench.{module}"), there or name)
