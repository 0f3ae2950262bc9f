"""Units of work: what there is to do, what became of each, and what is left."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from memsif_ray.clients.openai_http import STRUCTURED_OUTPUT_REFUSED
from memsif_ray.config import RunConfig
from memsif_ray.errors import ConfigError, DataError, MethodFault, ReplyInvalid, ServiceError
from memsif_ray.storage.inputs import Listed
from memsif_ray.storage.runs import RunFolder
from memsif_ray.storage.sealed import SealedFolder
from memsif_ray.types import CallScope

DONE, INCOMPLETE, FAILED, STOPPED = "done", "incomplete", "failed", "stopped"

ROW_ERRORS = (DataError, MethodFault, ReplyInvalid, ServiceError)
"""Errors of one unit or one question: recorded, while the others go on. Every other error is a bug of the
harness or a wrong configuration, and stops the run."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One method on one conversation: building its memory (`run` None), or one run of its questions."""

    method: str
    conversation_id: str
    run: int | None = None

    @property
    def stage(self) -> str:
        """`build` or `ask`."""
        return "build" if self.run is None else "ask"

    @property
    def scope(self) -> CallScope:
        """On whose behalf its calls are made."""
        return CallScope(self.method, self.conversation_id, run=self.run or 0)

    def folder(self, run_folder: RunFolder) -> SealedFolder:
        """Where its tables go."""
        if self.run is None:
            return run_folder.memory(self.method, self.conversation_id)
        return run_folder.answers(self.method, self.conversation_id, self.run)

    def ledger(self, run_folder: RunFolder) -> Path:
        """Where its calls are written down."""
        return run_folder.ledger(self.method, self.conversation_id, self.run)


@dataclass(frozen=True, slots=True)
class UnitRecord:
    """What became of a unit: a row of [`UNITS`][memsif_ray.schemas.UNITS].

    Attributes:
        stage: `build` or `ask`.
        method: Name of the method.
        conversation_id: Whose memory.
        run: Number of the independent run; None for building.
        status: `done`, `incomplete` (a service failed some of its questions) or `failed`; `stopped`, which
            is never written, when the configuration is wrong and no other unit can fare better.
        failed: Number of questions that a service failed.
        reason: Why it failed, or why its first failed question did.
        seconds: Wall clock of the last attempt.
    """

    stage: str
    method: str
    conversation_id: str
    run: int | None
    status: str = DONE
    failed: int = 0
    reason: str = ""
    seconds: float = 0.0

    @property
    def unit(self) -> Unit:
        """The unit that this is about."""
        return Unit(self.method, self.conversation_id, self.run)


def record(unit: Unit, **outcome: Any) -> UnitRecord:
    """The record of a unit."""
    return UnitRecord(unit.stage, unit.method, unit.conversation_id, unit.run, **outcome)


def seal(unit: Unit, run_folder: RunFolder, tables: dict[str, list[pa.Table]], **outcome: Any) -> UnitRecord:
    """Write a unit's tables and then its record; returns the record."""
    written = record(unit, **outcome)
    unit.folder(run_folder).write(tables, asdict(written))
    return written


def last_record(unit: Unit, run_folder: RunFolder) -> UnitRecord | None:
    """What became of a unit at its last attempt; None when that did not end, or left damaged tables."""
    said = unit.folder(run_folder).about()
    if said is None:
        return None
    return UnitRecord(**{field.name: said[field.name] for field in fields(UnitRecord)})


@dataclass(frozen=True, slots=True)
class Plan:
    """Units of a run: all of them, or those that are left.

    Attributes:
        listed: The conversations.
        builds: Memories to build; long conversations first, lest one is started last and waited for alone.
        asks: Runs of questions.
    """

    listed: tuple[Listed, ...]
    builds: tuple[Unit, ...]
    asks: tuple[Unit, ...]

    @classmethod
    def of(cls, config: RunConfig, listed: tuple[Listed, ...]) -> Plan:
        """Everything that a configuration asks for."""
        longest_first = sorted(listed, key=lambda entry: -entry.messages)
        pairs = [(method, entry) for method in config.methods for entry in longest_first]
        return cls(
            listed,
            tuple(Unit(method, entry.conversation_id) for method, entry in pairs),
            tuple(
                Unit(method, entry.conversation_id, run)
                for method, entry in pairs
                for run in range(config.runs)
                if entry.questions
            ),
        )

    @property
    def units(self) -> tuple[Unit, ...]:
        """Builds, then asks."""
        return self.builds + self.asks

    def without_asks(self) -> Plan:
        """The builds alone."""
        return replace(self, asks=())

    def left(self, run_folder: RunFolder) -> Plan:
        """What is not done yet. A memory that was damaged is built again, but nobody need ask it again."""
        builds, asks = (
            tuple(unit for unit in units if not _is_done(unit, run_folder))
            for units in (self.builds, self.asks)
        )
        return replace(self, builds=builds, asks=asks)

    def asks_by_build(self) -> dict[Unit, list[Unit]]:
        """The asks of each memory that has any."""
        grouped: dict[Unit, list[Unit]] = {}
        for ask in self.asks:
            grouped.setdefault(replace(ask, run=None), []).append(ask)
        return grouped

    def questions(self) -> dict[str, int]:
        """Questions per conversation, over all methods and runs."""
        sizes = {entry.conversation_id: entry.questions for entry in self.listed}
        asked: Counter[str] = Counter()
        for ask in self.asks:
            asked[ask.conversation_id] += sizes[ask.conversation_id]
        return dict(asked)

    def totals(self) -> dict[str, int]:
        """What progress counts up to."""
        questions = sum(self.questions().values())
        return {"built": len(self.builds), "asked": questions, "graded": questions}


def _is_done(unit: Unit, run_folder: RunFolder) -> bool:
    last = last_record(unit, run_folder)
    return last is not None and last.status == DONE


def reason_of(error: Exception) -> str:
    """One line for a row.

    Raises:
        ConfigError: When the same error awaits every other row, so that the run should stop.
    """
    if isinstance(error, ServiceError) and error.code == STRUCTURED_OUTPUT_REFUSED:
        raise ConfigError(str(error)) from error
    return f"{type(error).__name__}: {error}"
