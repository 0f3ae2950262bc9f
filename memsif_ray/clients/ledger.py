"""The call ledger is the journal: what a model said is written down once and never asked again.

One append-only JSONL file per unit of work. A unit that is killed and started again replays its finished
calls from the file, so it takes the same decisions without paying for them twice.

Each row is one unbuffered `write`, so it survives the death of the process. It is not `fsync`ed: after a
power cut the last rows may be missing or damaged at the file's end. They are cut off on the next start and
their calls are made again, which costs money but never correctness.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from memsif_ray.errors import DataError


@dataclass(frozen=True, slots=True)
class Call:
    """One row; the columns of [`CALLS`][memsif_ray.schemas.CALLS] in their order."""

    call_key: str
    occurrence: int
    stage: str
    method: str
    conversation_id: str
    question_id: str
    run: int
    model: str
    prompt_id: str = ""
    prompt_fingerprint: str = ""
    texts: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_s: float = 0.0
    finish_reason: str = ""
    outcome: str = "ok"
    attempts: int = 1
    error: str = ""
    content: str | None = None
    mean_logprob: float | None = None

    @property
    def failed(self) -> bool:
        """True when no reply came back: a later start asks again."""
        return self.outcome.startswith("error:")


class Ledger:
    """The rows of one unit of work. One process and one event loop write it at a time."""

    def __init__(self, path: Path) -> None:
        """Read what is there, cut off a last line that was not finished, and open for appending.

        Raises:
            DataError: When a line before the last cannot be read.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._rows: dict[tuple[str, int], Call] = {}
        self._seen: Counter[str] = Counter()
        # Unbuffered: each write is one system call, so a kill loses at most the row being written.
        self._file = path.open("ab", buffering=0)
        self._file.truncate(self._load(path))

    def __enter__(self) -> Self:
        """The ledger itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def next_occurrence(self, call_key: str) -> int:
        """0 for the first call with this key since the ledger was opened, then 1, ...

        Take it before awaiting anything: then concurrent equal calls are numbered in calling order.
        """
        occurrence = self._seen[call_key]
        self._seen[call_key] += 1
        return occurrence

    def finished(self, call_key: str, occurrence: int) -> Call | None:
        """The row to replay; None when the call was never made or had failed."""
        row = self._rows.get((call_key, occurrence))
        return None if row is None or row.failed else row

    def append(self, row: Call) -> None:
        """Write one row; it takes the place of an earlier one with the same key and occurrence."""
        self._file.write(json.dumps(asdict(row)).encode("ascii") + b"\n")
        self._rows[row.call_key, row.occurrence] = row

    def rows(self) -> list[Call]:
        """The last row of each (key, occurrence), ordered independently of which call ended first."""
        return sorted(self._rows.values(), key=lambda r: (r.question_id, r.stage, r.call_key, r.occurrence))

    def _load(self, path: Path) -> int:
        """Fill `_rows`; returns the length of the sound part of the file, in bytes."""
        lines = path.read_bytes().splitlines(keepends=True)
        sound = 0
        for number, line in enumerate(lines, start=1):
            try:
                row = Call(**json.loads(line))
            except (ValueError, TypeError) as exc:
                if number == len(lines):
                    break
                raise DataError(f"{path}, line {number}: not a ledger row ({exc})") from exc
            if not line.endswith(b"\n"):
                break
            self._rows[row.call_key, row.occurrence] = row
            sound += len(line)
        return sound
