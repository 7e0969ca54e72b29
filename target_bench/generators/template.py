"""The offline baseline for table-to-text: highlighted cells put into a sentence of a template."""

from target_bench.core.contract import Generator
from target_bench.core.schema import GenerationRequest
from target_bench.models.cell_sentences import sentence


class Template(Generator):
    """Says what the highlighted cells of the first table say, without any model.

    "Colin Hanlon had Year 2015, Show The 12 and Role Pete." A table without highlighted cells is
    named by its titles. Without a table, or without titles, the query itself is the answer.

    Args:
        section: whether the title of the section stands beside that of the page.
    """

    def __init__(self, section: bool = False) -> None:
        self.section = section

    def generate(self, request: GenerationRequest) -> str:
        """Return the sentence."""
        text = sentence(request.tables[0], self.section) if request.tables else ""
        return text or request.query
