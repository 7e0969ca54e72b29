from dataclasses import dataclass


@dataclass
class RetrievalResultDataModel:
    dataset_name: str
    query_id: int | str
    retrieval_results: list[tuple]  # type: ignore[type-arg]
