"""The chosen retriever in an application: a web service, and retrievers of two frameworks.

``pip install fastapi uvicorn && uvicorn examples.application:app``, then open
http://localhost:8000/tables?question=Who+won+the+1998+World+Cup%3F
"""

from typing import Any

from fastapi import FastAPI, HTTPException

from target_bench import ConfigError, TableSearch

# A corpus, a folder of files or a database; save and load keep the index of a large one.
search = TableSearch("mini", "bm25")
app = FastAPI()


@app.get("/tables")
def tables(question: str, k: int = 3) -> list[dict[str, Any]]:
    """Return the tables that answer a question, best first."""
    try:
        hits = search.search(question, k=k)
    except ConfigError as error:  # the question is empty, or k is not a number from 1
        raise HTTPException(400, str(error)) from error
    return [{"id": hit.table.id.label, "score": hit.score} for hit in hits]


def in_langchain(question: str) -> list[str]:
    """Return the tables as texts for a prompt: documents of a LangChain retriever."""
    return [document.page_content for document in search.as_langchain(k=3).invoke(question)]


def in_llama_index(question: str) -> list[str]:
    """Return the tables as texts for a prompt: nodes of a LlamaIndex retriever."""
    return [node.text for node in search.as_llama_index(k=3).retrieve(question)]
