"""From a function that builds a request to a method that sends it, blocking or not.

A method of a client is declared in one line, `add = Blocking(memory_calls.add)`, and has the arguments, the
documentation and the result of that function, for people, editors and type checkers alike.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Generic, ParamSpec, Protocol, Self, TypeVar, overload

from memsif_ray.api.client.connections import AsyncConnection, Connection
from memsif_ray.api.client.flows import Request
from memsif_ray.api.client.listing import Listing

P = ParamSpec("P")
T = TypeVar("T")
Built = TypeVar("Built")


class HasConnection(Protocol):
    """A client, or a part of one."""

    _connection: Connection


class HasAsyncConnection(Protocol):
    """An asynchronous client, or a part of one."""

    _connection: AsyncConnection


class _Method(Generic[P, Built]):
    def __init__(self, build: Callable[P, Built]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    def _sending(self, send: Callable[[Built], Any]) -> Callable[P, Any]:
        @functools.wraps(self._build)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return send(self._build(*args, **kwargs))

        return method


class Blocking(_Method[P, Request[T]]):
    """Sends, and returns the answer."""

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: HasConnection, owner: type) -> Callable[P, T]: ...
    def __get__(self, client: HasConnection | None, owner: type) -> Self | Callable[P, T]:
        """The method of this client."""
        return self if client is None else self._sending(client._connection.run)


class Awaitable(_Method[P, Request[T]]):
    """Returns a coroutine that sends."""

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: HasAsyncConnection, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(
        self, client: HasAsyncConnection | None, owner: type
    ) -> Self | Callable[P, Coroutine[Any, Any, T]]:
        """The method of this client."""
        return self if client is None else self._sending(client._connection.run)


class Iterated(_Method[P, Listing[T]]):
    """Returns an iterator that fetches one page at a time."""

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: HasConnection, owner: type) -> Callable[P, Iterator[T]]: ...
    def __get__(self, client: HasConnection | None, owner: type) -> Self | Callable[P, Iterator[T]]:
        """The method of this client."""
        return self if client is None else self._sending(client._connection.items)


class AsyncIterated(_Method[P, Listing[T]]):
    """Returns an asynchronous iterator that fetches one page at a time."""

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: HasAsyncConnection, owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, client: HasAsyncConnection | None, owner: type) -> Self | Callable[P, AsyncIterator[T]]:
        """The method of this client."""
        return self if client is None else self._sending(client._connection.items)
