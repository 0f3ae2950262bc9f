"""The clients: which methods there are. What they send is in `memory_calls` and `service_calls`."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self

import httpx

from memsif_ray import __version__
from memsif_ray.api.client import memory_calls, service_calls
from memsif_ray.api.client.connections import Address, AsyncConnection, Connection
from memsif_ray.api.client.flows import Policy
from memsif_ray.api.client.methods import AsyncIterated, Awaitable, Blocking, Iterated

BASE_URL_ENV = "MEMSIF_RAY_BASE_URL"
API_KEY_ENV = "MEMSIF_RAY_API_KEY"
LOCAL = "http://127.0.0.1:8000"
"""Where `memsif serve` listens by default."""

_AGENT = {"User-Agent": f"memsif-ray/{__version__}"}


class Operations:
    """Writes that were acknowledged before they were digested."""

    def __init__(self, connection: Connection) -> None:
        """Part of a `Client`."""
        self._connection = connection

    get = Blocking(service_calls.operation)
    wait = Blocking(service_calls.wait)
    cancel = Blocking(service_calls.cancel)
    retry = Blocking(service_calls.retry)


class AsyncOperations:
    """Writes that were acknowledged before they were digested."""

    def __init__(self, connection: AsyncConnection) -> None:
        """Part of an `AsyncClient`."""
        self._connection = connection

    get = Awaitable(service_calls.operation)
    wait = Awaitable(service_calls.wait)
    cancel = Awaitable(service_calls.cancel)
    retry = Awaitable(service_calls.retry)


class Client:
    """A memory service, over HTTP; may be shared between threads.

    Use as a context manager, or call `close`. All calls raise the errors of `memsif_ray.api.client.errors`.

    ```python
    with Client("http://127.0.0.1:8000") as memory:
        memory.add("I adopted a greyhound called Comet.", conversation_id="amy", wait=True)
        memory.answer("What is the name of the greyhound?", conversation_id="amy").answer
    ```

    Args:
        base_url: By default `$MEMSIF_RAY_BASE_URL`, else where `memsif serve` listens on this machine.
        api_key: By default `$MEMSIF_RAY_API_KEY`; a server in development mode wants none.
        timeout: Seconds that one call may take, all tries and pauses together.
        max_retries: Tries after the first, when the service is busy or the connection fails.
        http_client: For proxies, certificates or another transport; closed by whoever made it.

    Raises:
        ConfigError: When `base_url` is no address.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = Policy.timeout_s,
        max_retries: int = Policy.max_retries,
        http_client: httpx.Client | None = None,
    ) -> None:
        """Connect to nothing yet."""
        self._closes = http_client is None
        self._http = http_client or httpx.Client(headers=_AGENT)
        policy = Policy(timeout_s=timeout, max_retries=max_retries)
        self._connection = Connection(self._http, _address(base_url, api_key), policy)

    add = Blocking(memory_calls.add)
    add_batch = Blocking(service_calls.add_batch)
    search = Blocking(memory_calls.search)
    answer = Blocking(memory_calls.answer)
    get = Blocking(memory_calls.get)
    list = Iterated(memory_calls.list_)
    update = Blocking(memory_calls.update)
    supersede = Blocking(memory_calls.supersede)
    delete = Blocking(memory_calls.delete)
    restore = Blocking(memory_calls.restore)
    erase = Blocking(memory_calls.erase)
    history = Iterated(memory_calls.history)
    provenance = Blocking(memory_calls.provenance)
    segments = Iterated(service_calls.segments)
    trajectories = Iterated(service_calls.trajectories)
    candidates = Iterated(service_calls.candidates)
    conversations = Iterated(service_calls.conversations)
    messages = Iterated(service_calls.messages)
    erase_conversation = Blocking(service_calls.erase_conversation)
    export = Blocking(service_calls.export)
    import_ = Blocking(service_calls.import_)
    usage = Blocking(service_calls.usage)
    audit = Iterated(service_calls.audit)
    health = Blocking(service_calls.health)

    @property
    def operations(self) -> Operations:
        """What became of writes."""
        return Operations(self._connection)

    def close(self) -> None:
        """Close the connections."""
        if self._closes:
            self._http.close()

    def __enter__(self) -> Self:
        """The client itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        """Close."""
        self.close()


class AsyncClient:
    """As `Client`, for asyncio: every method is awaited, every list is read with `async for`."""

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = Policy.timeout_s,
        max_retries: int = Policy.max_retries,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        """Connect to nothing yet."""
        self._closes = http_client is None
        self._http = http_client or httpx.AsyncClient(headers=_AGENT)
        policy = Policy(timeout_s=timeout, max_retries=max_retries)
        self._connection = AsyncConnection(self._http, _address(base_url, api_key), policy)

    add = Awaitable(memory_calls.add)
    add_batch = Awaitable(service_calls.add_batch)
    search = Awaitable(memory_calls.search)
    answer = Awaitable(memory_calls.answer)
    get = Awaitable(memory_calls.get)
    list = AsyncIterated(memory_calls.list_)
    update = Awaitable(memory_calls.update)
    supersede = Awaitable(memory_calls.supersede)
    delete = Awaitable(memory_calls.delete)
    restore = Awaitable(memory_calls.restore)
    erase = Awaitable(memory_calls.erase)
    history = AsyncIterated(memory_calls.history)
    provenance = Awaitable(memory_calls.provenance)
    segments = AsyncIterated(service_calls.segments)
    trajectories = AsyncIterated(service_calls.trajectories)
    candidates = AsyncIterated(service_calls.candidates)
    conversations = AsyncIterated(service_calls.conversations)
    messages = AsyncIterated(service_calls.messages)
    erase_conversation = Awaitable(service_calls.erase_conversation)
    export = Awaitable(service_calls.export)
    import_ = Awaitable(service_calls.import_)
    usage = Awaitable(service_calls.usage)
    audit = AsyncIterated(service_calls.audit)
    health = Awaitable(service_calls.health)

    @property
    def operations(self) -> AsyncOperations:
        """What became of writes."""
        return AsyncOperations(self._connection)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._closes:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        """The client itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        """Close."""
        await self.aclose()


def _address(base_url: str | None, api_key: str | None) -> Address:
    """An argument goes before the environment; white space around a key comes from files and shells."""
    url = base_url or os.environ.get(BASE_URL_ENV) or LOCAL
    key = os.environ.get(API_KEY_ENV) if api_key is None else api_key
    return Address(url.strip(), (key or "").strip() or None)
