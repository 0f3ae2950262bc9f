"""The two ways of carrying out a flow: blocking, and on an event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import TypeVar

import httpx

from memsif_ray.api.client.flows import Call, Outcome, Policy, Received, Request, Send, Step
from memsif_ray.api.client.listing import Listing
from memsif_ray.errors import ConfigError
from memsif_ray.service.models import Page

T = TypeVar("T")

_CONNECT_S = 5.0
"""A server that does not even take the connection for so long is tried again rather than waited for."""


@dataclass(frozen=True)
class Address:
    """Where the service is, and who asks.

    Attributes:
        base_url: With or without `/v1` at its end.
        api_key: None in the development mode of a server.
    """

    base_url: str
    api_key: str | None = field(repr=False)

    def __post_init__(self) -> None:
        """Refuse what could never work.

        Raises:
            ConfigError: When it is no address, or no key.
        """
        try:
            url = httpx.URL(self.base_url)
        except httpx.InvalidURL as exc:
            raise ConfigError(f"base_url {self.base_url!r}: {exc}") from exc
        if url.scheme not in ("http", "https") or not url.host:
            raise ConfigError(f"base_url must be like http://host:8000, not {self.base_url!r}")
        if self.api_key is not None and not (self.api_key.isascii() and self.api_key.isprintable()):
            raise ConfigError("the API key has characters that no key has")

    def request(self, http: httpx.Client | httpx.AsyncClient, step: Send) -> httpx.Request:
        """The HTTP request of a step."""
        root = self.base_url.rstrip("/").removesuffix("/v1")
        headers = dict(step.headers)
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        limit_s = max(step.within_s, 0.001)
        timeout = httpx.Timeout(limit_s, connect=min(limit_s, _CONNECT_S))
        return http.build_request(
            step.method, root + step.path, params=step.query, headers=headers, json=step.body, timeout=timeout
        )


@dataclass(frozen=True)
class Connection:
    """Carries out flows in the calling thread. Safe to share between threads."""

    http: httpx.Client
    address: Address
    policy: Policy

    def run(self, request: Request[T]) -> T:
        """Do what the flow says until it ends."""
        flow = request.flow(self.policy)
        outcome: Outcome = None
        while True:
            try:
                step = flow.send(outcome)
            except StopIteration as end:
                answer: T = end.value
                return answer
            outcome = self._do(step)

    def items(self, listing: Listing[T]) -> Iterator[T]:
        """Item after item, page after page."""
        call: Call[Page[T]] | None = listing.first
        while call is not None:
            page = self.run(call)
            yield from page.results
            call = listing.after(call, page)

    def _do(self, step: Step) -> Outcome:
        if not isinstance(step, Send):
            time.sleep(step.seconds)
            return None
        deadline = time.monotonic() + step.within_s
        try:
            reply = self.http.send(self.address.request(self.http, step), stream=True)
            with closing(reply):
                return Received(reply.status_code, reply.headers, _whole_body(reply, deadline))
        except httpx.RequestError as exc:
            return exc


@dataclass(frozen=True)
class AsyncConnection:
    """Carries out flows on the running event loop."""

    http: httpx.AsyncClient
    address: Address
    policy: Policy

    async def run(self, request: Request[T]) -> T:
        """Do what the flow says until it ends."""
        flow = request.flow(self.policy)
        outcome: Outcome = None
        while True:
            try:
                step = flow.send(outcome)
            except StopIteration as end:
                answer: T = end.value
                return answer
            outcome = await self._do(step)

    async def items(self, listing: Listing[T]) -> AsyncIterator[T]:
        """Item after item, page after page."""
        call: Call[Page[T]] | None = listing.first
        while call is not None:
            page = await self.run(call)
            for item in page.results:
                yield item
            call = listing.after(call, page)

    async def _do(self, step: Step) -> Outcome:
        if not isinstance(step, Send):
            await asyncio.sleep(step.seconds)
            return None
        try:
            async with asyncio.timeout(step.within_s):
                reply = await self.http.send(self.address.request(self.http, step))
                return Received(reply.status_code, reply.headers, reply.content)
        except TimeoutError:
            return httpx.ReadTimeout("the whole reply did not arrive in time")
        except httpx.RequestError as exc:
            return exc


def _whole_body(reply: httpx.Response, deadline: float) -> bytes:
    """Read to the end; httpx limits the silence between two pieces, but not their sum."""
    pieces = []
    for piece in reply.iter_bytes():
        pieces.append(piece)
        if time.monotonic() > deadline:
            raise httpx.ReadTimeout("the whole reply did not arrive in time")
    return b"".join(pieces)
