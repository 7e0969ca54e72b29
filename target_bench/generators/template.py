"""The offline baseline for table-to-text: highlighted cells put into a sentence of a template."""

from target_bench.core.contract import Generator
from target_bench.core.schema import GenerationRequest
from target_bench.models.cell_sentences import sentence


class Template(Generator):
    """Says what the highlighted cells of the first table say, without any model.

    "In Theatre credits, Colin Hanlon had year 2015, show The 12 and role Pete." A table without
    highlighted cells is named by its title. Without a table, or without titles, the query itself is
    the answer.
    """

    VERSION = "2"

    def generate(self, request: GenerationRequest) -> str:
        """Return the sentence."""
        text = sentence(request.tables[0]) if request.tables else ""
        return text or request.query
