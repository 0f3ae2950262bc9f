"""Segments of a fixed number of messages, for measuring only (MemSIF, Appendix A.2).

They know nothing of topics, so that the measurements cannot favour the memory that they are to motivate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memsif_ray.text import is_blank
from memsif_ray.types import Message

LENGTHS = (1, 2, 4, 8)
"""Messages per segment that volatility is measured for."""
PAIR_LENGTH = 2
"""Messages per segment for neighbours and for pairs that a model is shown."""


@dataclass(frozen=True, slots=True)
class FixedSegment:
    """Messages in a row, and their text.

    Attributes:
        number: From 0.
        text: What was said, one message a line, without speakers: a segment of one message is embedded as
            the memory embeds that message, and its vector is shared with every benchmark run.
    """

    number: int
    message_ids: tuple[str, ...]
    text: str


def fixed_segments(messages: Sequence[Message], length: int) -> list[FixedSegment]:
    """Segments of `length` messages; blank ones are passed over, and the last may be shorter."""
    spoken = [message for message in messages if not is_blank(message.content)]
    return [
        FixedSegment(
            number,
            tuple(message.message_id for message in spoken[start : start + length]),
            "\n".join(message.content for message in spoken[start : start + length]),
        )
        for number, start in enumerate(range(0, len(spoken), length))
    ]
