"""Separate what a language model answers from what it writes down while it reasons."""

import re

READING = "answer:without-reasoning.1"
"""The version of the rule below, for signatures: a score depends on what is read."""

_TAG = re.compile(
    r"<(?P<closing>/?)(?:seed:)?(?:think|thinking|thought|thoughts|reasoning|scratchpad)"
    r"(?:\s[^<>]{0,200})?>"  # <think>, of Qwen and DeepSeek, and its relatives
    r"|\[(?P<closing2>/?)THINK\]"  # Mistral
    r"|◁(?P<closing3>/?)think▷"  # Kimi
    r"|<\|(?:(?P<closing4>END_THINKING|end_of_thought)|START_THINKING|begin_of_thought)\|>",
    re.IGNORECASE,
)
_RESPONSE = re.compile(r"<\|(?:(?:START|END)_RESPONSE|(?:begin|end)_of_solution)\|>", re.IGNORECASE)
"""Marks of the answer itself, of Cohere and of open models that imitate o1."""
_CHANNEL = re.compile(
    r"<\|channel\|>\s{0,9}(?P<name>[a-z]{1,20})\b[^<]{0,200}"
    r"(?:<\|constrain\|>[^<]{0,50})?<\|message\|>"
)
_END_OF_MESSAGE = re.compile(r"<\|(?:end|return|call|start|channel)\|>")
_PLAIN_CHANNEL = re.compile(r"\A\s*analysis(?=\S)")
_PLAIN_FINAL = "assistantfinal"


def without_reasoning(text: str) -> str:
    """Return an answer without the reasoning blocks in it; unchanged if there is none.

    A block is what stands between an opening and the next closing tag: ``<think>``, ``<thinking>``,
    ``<thought>``, ``<reasoning>`` and ``<scratchpad>``, in any case and with attributes,
    ``[THINK]``, ``◁think▷``, ``<|START_THINKING|>`` and ``<|begin_of_thought|>``. A text may hold
    several. Two kinds of block lack a tag:

    * an opening tag that is not closed: the answer was cut off, and nothing after the tag is an
      answer;
    * a closing tag that was not opened: the chat template held the opening tag, and nothing before
      the closing one is an answer.

    Of messages in OpenAI's harmony format (``<|channel|>analysis<|message|>...``), also with their
    special tokens left out (``analysis...assistantfinal...``), the last of the channel ``final`` is
    the answer.

    Marks around the answer (``<|START_RESPONSE|>``, ``<|begin_of_solution|>``) are taken out, and
    what is between them is kept.

    An answer that means such a tag literally loses text, too. Takes time linear in the text.
    """
    answer = _final_channel(text)
    if _RESPONSE.search(answer):
        answer = _RESPONSE.sub("", answer).strip()
    outside: list[str] = []
    start, inside = 0, False
    for tag in _TAG.finditer(answer):
        if any(tag.group("closing", "closing2", "closing3", "closing4")):
            if not inside:
                outside.clear()
            start, inside = tag.end(), False
        elif not inside:
            outside.append(answer[start : tag.start()])
            inside = True
    if not start and not inside:
        return answer
    if not inside:
        outside.append(answer[start:])
    return "\n".join(part for part in map(str.strip, outside) if part)


def _final_channel(text: str) -> str:
    """Return the last final message of the harmony format; text in another format as it is."""
    messages = list(_CHANNEL.finditer(text))
    if messages:
        final = [message.end() for message in messages if message["name"] == "final"]
        if not final:
            return ""
        end = _END_OF_MESSAGE.search(text, final[-1])
        return text[final[-1] : end.start() if end else len(text)].strip()
    if _PLAIN_CHANNEL.match(text) and _PLAIN_FINAL in text:
        return text.rpartition(_PLAIN_FINAL)[2].strip()
    return text
