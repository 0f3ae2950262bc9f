"""What a promoted detail is called: several statements about one subject as one (MemSIF 3.4)."""

from __future__ import annotations

from collections.abc import Sequence

from memsif_ray.config import ActiveFactConfig
from memsif_ray.errors import ReplyInvalid
from memsif_ray.memory.tools import Tools
from memsif_ray.prompts.asking import ask
from memsif_ray.text import truncate

_CHARS = 600
"""Of the statements in a row, where no model writes one from them."""


async def synthesised(
    subject: str, statements: Sequence[str], *, tools: Tools, config: ActiveFactConfig
) -> tuple[str, str]:
    """One statement for several, and who wrote it: `llm`, `rule`, or `fallback` after an unusable reply.

    Raises:
        ServiceError: When the endpoint failed.
    """
    joined = truncate("; ".join(sorted(statements)), _CHARS)
    if not tools.capabilities.uses_llm("synthesise", config.synthesise):
        return joined, "rule"
    try:
        reply = await ask(
            tools.chat,
            "promote",
            stage="promote",
            scope=tools.scope,
            max_tokens=160,
            subject=subject,
            notes=statements,
        )
    except ReplyInvalid:
        return joined, "fallback"
    return reply["statement"].strip() or joined, "llm"
