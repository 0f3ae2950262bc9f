"""Writers that wait at the same time share a commit.

A commit waits for the disk, and a database of one writer at a time makes all others wait with it. So whoever
lined up meanwhile goes together into the next transaction. Each change has a savepoint of its own there: one
that fails is undone alone. Nobody hears of success before the commit.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import Connection

Out = TypeVar("Out")

_TOGETHER = 100
"""Changes that share a commit at most, so that the first does not wait long for the last."""


@dataclass(frozen=True, slots=True)
class _Change:
    """Something to be written, and whoever waits for it; `forgets` = what it replaces must leave the log."""

    work: Callable[[Connection], Any]
    forgets: bool
    outcome: Future[Any] = field(default_factory=Future)


class GroupCommit:
    """The one thread that writes, and the line before it.

    Args:
        transaction: Begins one that nobody else's overlaps; leaving it commits or undoes it.
        forget: Empties the database's log.
    """

    def __init__(
        self, transaction: Callable[[], AbstractContextManager[Connection]], forget: Callable[[], object]
    ) -> None:
        """The line is empty."""
        self.thread = ThreadPoolExecutor(1, "memsif-sqlite-write")
        self._transaction, self._forget = transaction, forget
        self._line: deque[_Change] = deque()

    async def write(self, work: Callable[[Connection], Out], *, forgets: bool = False) -> Out:
        """Do `work` in a transaction that is on disk when this returns; an exception undoes it alone."""
        change = _Change(work, forgets)
        self._line.append(change)
        self.thread.submit(self._commit_some)
        result: Out = await asyncio.wrap_future(change.outcome)
        return result

    def _commit_some(self) -> None:
        some = [self._line.popleft() for _ in range(min(len(self._line), _TOGETHER))]
        group = [change for change in some if change.outcome.set_running_or_notify_cancel()]
        if not group:  # an earlier turn took them along
            return
        try:
            with self._transaction() as connection:
                attempt = _done if len(group) == 1 else _attempted  # nobody to be spared one's failure
                tell = [attempt(connection, change) for change in group]
        except BaseException as exc:  # noqa: BLE001 - it belongs to those who wait, whatever it is
            tell = [_telling(change, exc) for change in group]
        self._tell(group, tell)

    def _tell(self, group: Sequence[_Change], tell: Sequence[Callable[[], None]]) -> None:
        """Those who must be forgotten about last: emptying the log takes a while."""
        for change, told in zip(group, tell, strict=True):
            if not change.forgets:
                told()
        late = [told for change, told in zip(group, tell, strict=True) if change.forgets]
        try:
            if late:
                self._forget()
        finally:
            for told in late:
                told()


def _done(connection: Connection, change: _Change) -> Callable[[], None]:
    result = change.work(connection)
    return lambda: change.outcome.set_result(result)


def _attempted(connection: Connection, change: _Change) -> Callable[[], None]:
    """What to tell once the transaction is committed.

    Raises:
        BaseException: What the change met, when it has undone the whole transaction (e.g. a full disk).
    """
    try:
        with connection.begin_nested():
            return _done(connection, change)
    except BaseException as exc:  # noqa: BLE001 - it belongs to the one who waits, whatever it is
        if not connection.connection.driver_connection.in_transaction:  # type: ignore[union-attr]
            raise
        return _telling(change, exc)


def _telling(change: _Change, failure: BaseException) -> Callable[[], None]:
    return lambda: change.outcome.set_exception(failure)
