from target_benchmark.retrievers.AbsRetrieverBase import (  # type: ignore[import-not-found]
    AbsRetrieverBase,
)


class AbsCustomEmbeddingRetriever(AbsRetrieverBase):  # type: ignore[misc]
    pass


class AbsStandardEmbeddingRetriever(AbsRetrieverBase):  # type: ignore[misc]
    pass
