"""How a call is made, written once for the blocking and the asynchronous client.

A *flow* is a generator that says what to do next, send or pause, and is told what came of it. It knows no
sockets and no event loop; `Client` and `AsyncClient` each carry flows out in their own way.
"""

from __future__ import annotations

import itertools
import random
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

import httpx
from pydantic import BaseModel
from pydantic import ValidationError as NotAsExpected

from memsif_ray.api.client.errors import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    UnexpectedReplyError,
    error_of,
)

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@dataclass(frozen=True, slots=True)
class Send:
    """Send this request, and wait for its whole reply no longer than `within_s`."""

    method: str
    path: str
    query: Mapping[str, Any]
    headers: Mapping[str, str]
    body: Mapping[str, Any] | None
    within_s: float


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Received:
    """A whole reply."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Step: TypeAlias = Send | Pause
Outcome: TypeAlias = Received | httpx.RequestError | None
"""Of a step: a reply, or why there is none; None after a pause."""
Flow: TypeAlias = Generator[Step, Outcome, T]


@dataclass(frozen=True)
class Policy:
    """How long to insist.

    Attributes:
        timeout_s: Limit of one call, all tries and pauses together.
        max_retries: Tries after the first.
        base_s: Upper end of the first pause; it doubles with each try.
        cap_s: Longest pause of the client's own choosing.
        retry_after_cap_s: Longest pause that a server may ask for; one that asks for more is taken at its
            word by giving up at once, not by asking too early.
        rng: Source of the jitter.
    """

    timeout_s: float = 120.0
    max_retries: int = 4
    base_s: float = 0.5
    cap_s: float = 8.0
    retry_after_cap_s: float = 60.0
    rng: random.Random = field(default_factory=random.Random)

    def pause_s(self, tries: int, failure: APIError) -> float | None:
        """Before the next try: full jitter, or the server's wish plus a little; None for no next try."""
        if tries > self.max_retries:
            return None
        wish_s = failure.retry_after_s
        if wish_s is None:
            return self.rng.uniform(0, min(self.cap_s, self.base_s * 2 ** (tries - 1)))
        return wish_s + self.rng.uniform(0, self.base_s / 5) if wish_s <= self.retry_after_cap_s else None


class Request(ABC, Generic[T]):
    """Something to ask of the service; its answer is a `T`."""

    @abstractmethod
    def flow(self, policy: Policy) -> Flow[T]:
        """How to get the answer.

        Raises:
            APIError: The last failure, with `attempts` counted.
        """


@dataclass(frozen=True)
class Call(Request[M]):
    """One HTTP call.

    Attributes:
        result: Model of the reply. Keys that it does not know are ignored: the server may be newer.
        repeatable: Whether sending it twice does no more than sending it once. Others are only sent again
            when it is certain that the server did nothing.
        once: The first reply is the answer, also that the server is busy.
    """

    method: str
    path: str
    result: type[M]
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False
    once: bool = False

    def flow(self, policy: Policy) -> Flow[M]:
        """Send until there is a reply, or no hope or no time for one; all tries have one request id."""
        request_id = uuid.uuid4().hex
        headers = {**self.headers, "X-Request-ID": request_id}
        deadline = time.monotonic() + policy.timeout_s
        for tries in itertools.count(1):
            left_s = deadline - time.monotonic()
            outcome = yield Send(self.method, self.path, self.query, headers, self.body, left_s)
            if isinstance(outcome, Received) and 200 <= outcome.status < 300:
                return self._read(outcome, request_id)
            failure = _failure(outcome, request_id, policy)
            failure.attempts = tries
            pause_s = policy.pause_s(tries, failure) if self._may_repeat(outcome, failure) else None
            if pause_s is None or pause_s >= deadline - time.monotonic():
                raise failure
            yield Pause(pause_s)
        raise AssertionError("unreachable")

    def _may_repeat(self, outcome: Outcome, failure: APIError) -> bool:
        if self.once:
            return False
        if isinstance(outcome, _UNSENT) or failure.status in (429, 503):
            return True
        if failure.status == 502 and failure.code:  # the service's own word, not that of a proxy before it
            return True
        # After a 504 the work may still go on over there: under its idempotency key the next try joins a
        # write that takes longer than the service lets one request take.
        return self.repeatable and (failure.status in (502, 504) or isinstance(outcome, httpx.TransportError))

    def _read(self, reply: Received, request_id: str) -> M:
        try:
            return self.result.model_validate_json(reply.body, extra="ignore")
        except NotAsExpected as exc:
            seen = reply.body[:200].decode(errors="replace")
            raise UnexpectedReplyError(
                f"the reply is no {self.result.__name__}, is base_url right? It begins: {seen!r}",
                reply.status,
                "unexpected_reply",
                request_id,
            ) from exc


def _failure(outcome: Outcome, request_id: str, policy: Policy) -> APIError:
    if isinstance(outcome, Received):
        return error_of(outcome.status, outcome.headers, outcome.body, request_id=request_id)
    failure: APIError
    if isinstance(outcome, httpx.TimeoutException):
        text = f"no answer in time ({type(outcome).__name__}); {policy.timeout_s:g} s for all tries"
        failure = APITimeoutError(text, code="timeout", request_id=request_id)
    else:
        text = f"{type(outcome).__name__}: {outcome}"
        failure = APIConnectionError(text, code="connection", request_id=request_id)
    failure.__cause__ = outcome
    return failure
