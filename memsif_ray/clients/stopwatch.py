"""Time as a question's latency wants it: replay takes as long as the calls that it spares."""

from __future__ import annotations

import time


class Stopwatch:
    """Seconds of a clock that goes on by what each replayed call took when it was made.

    Else a question whose calls are in the ledger, because its unit was stopped and started again, would seem
    to be answered in no time. Replayed calls that were made side by side count one after the other.
    """

    def __init__(self) -> None:
        """Nothing is replayed yet."""
        self._spared_s = 0.0

    def spare(self, seconds: float) -> None:
        """Go on by the seconds that a replayed call took."""
        self._spared_s += seconds

    def __call__(self) -> float:
        """Now, in seconds; only differences mean anything."""
        return time.perf_counter() + self._spared_s
