"""What a plug-in may use beyond the contracts of ``target_bench``, loaded on first use.

Contributed plug-ins import from ``target_bench`` and from here, and from nothing else of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from target_bench.core.cache_use import note_cached
    from target_bench.core.contract import check_generator
    from target_bench.core.credentials import looks_secret, without_secrets
    from target_bench.core.identity import plugin_identity
    from target_bench.core.ranking import Ranking, best_cosines
    from target_bench.core.registry import make_part
    from target_bench.core.release import decode, field, texts
    from target_bench.core.schema import Field, Format, RowLimit
    from target_bench.data.formats.csv_files import csv_grid
    from target_bench.data.formats.queries import read_log
    from target_bench.data.load import pair_with_corpora
    from target_bench.data.table_text import WORDS, Analyzer, first_rows, stop_words
    from target_bench.models.encoders.encoding import Encoding
    from target_bench.models.generator_calls import ask_generator
    from target_bench.models.prompts.schema_prompting import create_statement
    from target_bench.models.vector_database import VectorDatabase
    from target_bench.search.fusion import Fusion, Method, Scale
    from target_bench.search.lexical.postings import Formula, Postings
    from target_bench.search.nested import Candidates, InnerRetriever, Wrapper

_HOME = {
    "Analyzer": "data.table_text",
    "Candidates": "search.nested",
    "Encoding": "models.encoders.encoding",
    "Field": "core.schema",
    "Format": "core.schema",
    "Formula": "search.lexical.postings",
    "Fusion": "search.fusion",
    "InnerRetriever": "search.nested",
    "Method": "search.fusion",
    "Postings": "search.lexical.postings",
    "Ranking": "core.ranking",
    "RowLimit": "core.schema",
    "Scale": "search.fusion",
    "VectorDatabase": "models.vector_database",
    "WORDS": "data.table_text",
    "Wrapper": "search.nested",
    "ask_generator": "models.generator_calls",
    "best_cosines": "core.ranking",
    "check_generator": "core.contract",
    "create_statement": "models.prompts.schema_prompting",
    "csv_grid": "data.formats.csv_files",
    "decode": "core.release",
    "field": "core.release",
    "first_rows": "data.table_text",
    "looks_secret": "core.credentials",
    "note_cached": "core.cache_use",
    "make_part": "core.registry",
    "plugin_identity": "core.identity",
    "read_log": "data.formats.queries",
    "stop_words": "data.table_text",
    "pair_with_corpora": "data.load",
    "texts": "core.release",
    "without_secrets": "core.credentials",
}
"""Name -> its module."""

__all__ = [
    "WORDS",
    "Analyzer",
    "Candidates",
    "Encoding",
    "Field",
    "Format",
    "Formula",
    "Fusion",
    "InnerRetriever",
    "Method",
    "Postings",
    "Ranking",
    "RowLimit",
    "Scale",
    "VectorDatabase",
    "Wrapper",
    "ask_generator",
    "best_cosines",
    "check_generator",
    "create_statement",
    "csv_grid",
    "decode",
    "field",
    "first_rows",
    "looks_secret",
    "make_part",
    "note_cached",
    "pair_with_corpora",
    "plugin_identity",
    "read_log",
    "stop_words",
    "texts",
    "without_secrets",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"target_bench.{_HOME[name]}"), name)
