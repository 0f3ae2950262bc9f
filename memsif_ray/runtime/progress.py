"""How far a run is: workers count, one small actor adds up, and the driver shows it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

Counts = Mapping[str, int]

_STEPS = {
    "built": "memories built",
    "asked": "questions asked",
    "graded": "answers graded",
    "tasks": "tasks done",
}
_POLL_S = 0.5
_LINE_EVERY_S = 15.0


class Tally:
    """Counts of one process, passed on at most once per half second."""

    def __init__(self, report: Callable[[dict[str, int]], object] | None = None) -> None:
        """Pass counts to `report`; None keeps them."""
        self._report = report
        self._counts: Counter[str] = Counter()
        self._reported = 0.0

    def add(self, **counts: int) -> None:
        """Count something."""
        self._counts.update(counts)
        if time.monotonic() - self._reported > _POLL_S:
            self.flush()

    def flush(self) -> None:
        """Pass on what has been counted since."""
        if self._report is not None and self._counts:
            self._report(dict(self._counts))
            self._counts.clear()
        self._reported = time.monotonic()


class Board:
    """Adds up what all processes counted. Undecorated: the driver makes an actor of it."""

    def __init__(self) -> None:
        """Start from nothing."""
        self._counts: Counter[str] = Counter()

    def add(self, counts: Counts) -> None:
        """Add one process's news."""
        self._counts.update(counts)

    def counts(self) -> dict[str, int]:
        """All news so far."""
        return dict(self._counts)


def announce(step: str) -> None:
    """One line on stderr about a step that takes a while and has no measure."""
    Console(stderr=True, highlight=False).print(step)


@contextmanager
def shown(read: Callable[[], Counts], totals: Counts, *, enabled: bool = True) -> Iterator[None]:
    """Show progress on stderr while the block runs: bars on a terminal, now and then a line elsewhere.

    Args:
        read: Gives the counts so far; called from a thread of its own.
        totals: How many of each there will be.
        enabled: False shows nothing.
    """
    if not enabled:
        yield
        return
    console = Console(stderr=True)
    display = _Bars(console, totals) if console.is_terminal else _Lines(console, totals)
    stop = threading.Event()
    thread = threading.Thread(target=_poll, args=(read, display.show, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        display.close()


def _poll(read: Callable[[], Counts], show: Callable[[Counts], None], stop: threading.Event) -> None:
    while not stop.wait(_POLL_S):
        show(read())
    show(read())


class _Speed:
    """Calls and tokens per second, for a person to see that the engine is busy."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def of(self, counts: Counts) -> str:
        seconds = time.monotonic() - self._started
        tokens = counts.get("prompt_tokens", 0) + counts.get("completion_tokens", 0)
        return f"{counts.get('calls', 0):,} calls, {tokens / seconds:,.0f} tokens/s"


class _Bars:
    def __init__(self, console: Console, totals: Counts) -> None:
        self._speed = _Speed()
        columns = (
            TextColumn("{task.description:16}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
        )
        self._progress = Progress(*columns, console=console)
        self._tasks: dict[str, TaskID] = {
            step: self._progress.add_task(label, total=totals[step], note="")
            for step, label in _STEPS.items()
            if totals.get(step)
        }
        self._progress.start()

    def show(self, counts: Counts) -> None:
        for step, task in self._tasks.items():
            self._progress.update(task, completed=counts.get(step, 0), note="")
        if self._tasks:
            last = next(reversed(self._tasks.values()))
            self._progress.update(last, note=self._speed.of(counts))

    def close(self) -> None:
        self._progress.stop()


class _Lines:
    def __init__(self, console: Console, totals: Counts) -> None:
        self._speed = _Speed()
        self._console = console
        self._totals = totals
        self._shown_at = time.monotonic()
        self._last: Counts = {}

    def show(self, counts: Counts) -> None:
        self._last = counts
        if time.monotonic() - self._shown_at > _LINE_EVERY_S:
            self._line()

    def close(self) -> None:
        self._line()

    def _line(self) -> None:
        self._shown_at = time.monotonic()
        steps = [
            f"{label} {self._last.get(step, 0)}/{self._totals[step]}"
            for step, label in _STEPS.items()
            if self._totals.get(step)
        ]
        self._console.print(", ".join([*steps, self._speed.of(self._last)]), highlight=False, soft_wrap=True)
