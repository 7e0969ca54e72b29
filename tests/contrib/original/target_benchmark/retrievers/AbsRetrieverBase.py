from typing import Any


class AbsRetrieverBase:
    def __init__(self, expected_corpus_format: str = "nested array") -> None:
        self.expected_corpus_format = expected_corpus_format

    def retrieve_batch(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError
