"""The one retry layer: bounded concurrency, back-off and an overall deadline.

Every HTTP client below it is told not to retry, because stacked retries turn a 30 s limit into 90 s.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Generic, NamedTuple, TypeVar

from memsif_ray.errors import ServiceBusy, ServiceError

T = TypeVar("T")


class Attempted(NamedTuple, Generic[T]):
    """What finally came back, and how many tries it took."""

    value: T
    attempts: int


@dataclass(frozen=True)
class RetryPolicy:
    """How long to insist.

    Attributes:
        deadline_s: Limit of one call: all tries and pauses together. Waiting for a free slot of one's own
            process stops the clock, because the server is not to blame for it.
        attempt_s: Limit of one try; None lets a try use all the time that is left.
        base_s: Upper end of the first pause; it doubles with each try.
        cap_s: Longest pause of our own choosing (a server's Retry-After may be longer).
        sleep: How to pause.
        rng: Source of the jitter.
    """

    deadline_s: float
    attempt_s: float | None = None
    base_s: float = 0.5
    cap_s: float = 30.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    rng: random.Random = field(default_factory=random.Random)

    async def run(self, attempt: Callable[[], Awaitable[T]], *, slots: asyncio.Semaphore) -> Attempted[T]:
        """Call `attempt` until it succeeds, is refused, or the deadline leaves no room for another try.

        A slot is held during a try only, so a call that backs off blocks nobody.

        Raises:
            ServiceError: The last failure, with `attempts` counted.
        """
        left_s = self.deadline_s
        for tries in itertools.count(1):
            async with slots:
                started = time.monotonic()
                try:
                    return Attempted(await self._limited(attempt, left_s), tries)
                except ServiceError as exc:
                    failure = exc
            left_s -= time.monotonic() - started
            failure.attempts = tries
            if not failure.retryable:
                raise failure
            pause_s = self._pause_s(tries, failure.retry_after_s)
            if pause_s >= left_s:
                raise failure
            await self.sleep(pause_s)
            left_s -= pause_s
        raise AssertionError("unreachable")

    async def _limited(self, attempt: Callable[[], Awaitable[T]], left_s: float) -> T:
        limit_s = left_s if self.attempt_s is None else min(left_s, self.attempt_s)
        try:
            async with asyncio.timeout(limit_s):
                return await attempt()
        except TimeoutError as exc:
            raise ServiceBusy(f"no reply within {limit_s:.1f} s", "timeout") from exc

    def _pause_s(self, tries: int, retry_after_s: float | None) -> float:
        """Full jitter, or the server's wish plus a little, lest all its clients return at once."""
        if retry_after_s is not None:
            return retry_after_s + self.rng.uniform(0, self.base_s)
        return self.rng.uniform(0, min(self.cap_s, self.base_s * 2 ** (tries - 1)))


def retry_after_s(header: str | None, now: datetime | None = None) -> float | None:
    """Seconds asked for by a Retry-After header (RFC 9110: seconds or a date); None when it says nothing.

    Args:
        header: The header's value.
        now: Time that a date is compared with, with a time zone; None is the clock.
    """
    if header is None:
        return None
    if re.fullmatch(r"-?\d+(\.\d+)?", header.strip()):
        return max(0.0, float(header))
    try:
        date = parsedate_to_datetime(header)
    except ValueError:
        return None
    if date.tzinfo is None:  # "-0000" means UTC of unknown origin
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())
