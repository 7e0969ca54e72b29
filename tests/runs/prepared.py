"""What a process does once, when it is imported, for those that are forked from it.

It parses the code that plug-ins are identified by, which stays known by its content, and exempts
what is there from the search for garbage: that would read and so copy it in each process.
"""

import atexit
import gc
from pathlib import Path

from target_bench.core.identity import own_files
from target_bench.corpora.mini import loader
from target_bench.generators import extractive
from target_bench.retrievers import bm25
from target_bench.tasks import (
    fact_verification,
    question_answering,
    retrieval,
    table_to_text,
    text_to_sql,
    text_to_table,
)

_TASKS = (
    *(fact_verification, question_answering, retrieval, table_to_text),
    *(text_to_sql, text_to_table),
)
own_files(Path(module.__file__ or "") for module in (loader, extractive, bm25, *_TASKS))
gc.collect()
gc.freeze()
atexit.register(gc.unfreeze)
