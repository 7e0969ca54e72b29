"""FeTaQA: free-form answers from Wikipedia tables (Nan et al. 2022)."""

from target_bench.core.declarations import Columns, GitHub
from target_bench.core.release import CorpusLoader
from target_bench.core.schema import CorpusInfo


class FeTaQA(CorpusLoader):
    """Each record is a question and its table; some tables repeat under another id."""

    info = CorpusInfo(
        name="fetaqa",
        title="FeTaQA",
        tasks=("retrieval", "question_answering", "table_to_text"),
        splits=("test", "validation", "train"),
        licence="CC BY-SA 4.0",
        citation="Nan et al., FeTaQA: Free-form Table Question Answering, TACL 2022",
        files=("fetaQA-v1_test.jsonl, fetaQA-v1_dev.jsonl, fetaQA-v1_train.jsonl (from data/)",),
        data=GitHub(
            "Yale-LILY/FeTaQA",
            "data/fetaQA-v1_{split}.jsonl",
            commit="bbc441be807212d736c8c35a18146b530dde11d0",
            split_names={"validation": "dev"},
        ),
    )
    columns = Columns(
        query_id="feta_id",
        query="question",
        answer="answer",
        table_id="table_source_json",
        table="table_array",
        context={
            "title": "table_page_title",
            "section_title": "table_section_title",
            "url": "page_wikipedia_url",
        },
        metadata={"highlighted_cells": "highlighted_cell_ids"},
    )
