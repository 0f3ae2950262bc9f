"""The one way to answer from a context, shared by every compared method (MemSIF, Appendix D)."""

from __future__ import annotations

from memsif_ray.errors import ReplyInvalid
from memsif_ray.memory.tools import Tools
from memsif_ray.methods.asking import ask_with
from memsif_ray.prompts import escape
from memsif_ray.types import Answer, Context, Question


async def answer_from(
    context: Context, question: Question, *, tools: Tools, max_tokens: int, temperature: float
) -> Answer:
    """Generate an answer from `context` alone.

    A reply that stays unusable is an answer without text that names the reason.

    Raises:
        ServiceError: When the endpoint failed.
    """
    try:
        text = await ask_with(
            tools,
            "answer",
            max_tokens=max_tokens,
            temperature=temperature,
            question_id=question.question_id,
            question=question.text,
            asked_at=question.asked_at and f"{question.asked_at:%A, %d %B %Y}",
            context="\n".join(escape(item.text) for item in context.items),
        )
    except ReplyInvalid as exc:
        return Answer(question.question_id, None, str(exc))
    return Answer(question.question_id, text)
