"""The one way in which compared systems put something to the model."""

from __future__ import annotations

from typing import Any

from memsif_ray.errors import ReplyInvalid
from memsif_ray.memory.tools import Tools
from memsif_ray.prompts.asking import ask


async def ask_with(
    tools: Tools,
    prompt: str,
    *,
    max_tokens: int,
    temperature: float = 0.0,
    question_id: str = "",
    stage: str = "",
    **values: Any,
) -> Any:
    """The checked reply to a prompt, metered under the method's scope.

    Args:
        tools: Chat model, seed and scope.
        prompt: A prompt file, e.g. `gam/plan`.
        max_tokens: Most tokens of the reply.
        temperature: Of the first try.
        question_id: The question on whose behalf it is asked; "" while memory is built.
        stage: Step of the method; "" for the prompt's own name.
        **values: What the prompt shows.

    Raises:
        ReplyInvalid: When every attempt gave an unusable reply.
        ServiceError: When the endpoint failed.
    """
    return await ask(
        tools.chat,
        prompt,
        stage=stage or prompt.rpartition("/")[2],
        scope=tools.scope_of(question_id),
        max_tokens=max_tokens,
        temperature=temperature,
        seed=tools.seed,
        **values,
    )


async def reply_or_reason(tools: Tools, prompt: str, *, max_tokens: int, **asked: Any) -> Any:
    """Like `ask_with`, but an unusable reply is a value too: the `ReplyInvalid` that says why.

    Raises:
        ServiceError: When the endpoint failed.
    """
    try:
        return await ask_with(tools, prompt, max_tokens=max_tokens, **asked)
    except ReplyInvalid as exc:
        return exc
