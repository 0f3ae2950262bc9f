"""For people who move over from Mem0: the shape of its `Memory`, over a memory of ours.

```python
from memsif_ray.api.mem0 import Memory  # was: from mem0 import Memory

memory = Memory()
memory.add([{"role": "user", "content": "I am allergic to nuts."}], user_id="amy")
memory.search("What can she eat?", filters={"user_id": "amy"})["results"]
```

Names, arguments and results are those of mem0 2.x, and `user_id=` is taken by `search` and `get_all` too, as
in mem0 before 2. What differs:

- A call has one scope: a `user_id`, an `agent_id` or a `run_id`. Two at once, wildcards and filters with
  operators are refused, not ignored.
- `add` keeps every message, and its results are the memories that rest on them. Its `metadata` stays with the
  messages, where `provenance` of the client shows it: a memory may rest on several, each with its own. Other
  filters of `search` ask for that metadata, of all messages that a result rests on; `get_all` takes none.
  The `metadata` of a result is what MemSIF knows of the memory.
- `search` also returns messages and evidence (`metadata.type` says what a result is); their ids are no
  memories, so `get` gives None for them.
- `delete` takes a memory out of use, `delete_all` erases everything in the scope, the messages included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice
from typing import Any

from memsif_ray.api.client import Client
from memsif_ray.api.verbs import Remembers
from memsif_ray.errors import MemsifError, NotFound
from memsif_ray.service import models

_SCOPES = ("user_id", "agent_id", "run_id")
_OPERATORS = ("AND", "OR", "NOT")
_WHOLE_PAGES = 1_000

Result = dict[str, Any]


class Memory:
    """Mem0's `Memory` with MemSIF behind it.

    Raises of every method: ValueError for a missing, wild or unsupported scope, as mem0 does, and the errors
    of `memsif_ray.api.client` for the rest.
    """

    def __init__(self, memory: Remembers | None = None) -> None:
        """Over `memory`; by default a `Client` that takes address and key from the environment."""
        self._memory = memory or Client()

    def add(
        self,
        messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Result:
        """Remember messages, and wait until they are digested; system messages say nothing to remember."""
        scope = _Scope.of(user_id=user_id, agent_id=agent_id, run_id=run_id)
        kept = [_message(message, metadata) for message in _several(messages)]
        kept = [message for message in kept if message["role"] != "system"]
        if not kept:
            return {"results": []}
        operation = self._memory.add(kept, conversation_id=scope.conversation_id, wait=True)
        if operation.status == models.OperationStatus.FAILED:
            raise MemsifError(f"stored, but not digested: {operation.error}")
        new = frozenset(operation.message_ids)
        memories = self._memory.list(scope.conversation_id, page_size=_WHOLE_PAGES)
        return {"results": [_event(memory) for memory in memories if not new.isdisjoint(memory.message_ids)]}

    def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
    ) -> Result:
        """What memory has to say, best first; with `threshold` only what scores at least that."""
        given = filters or {}
        scopes = {name: value for name, value in given.items() if name in _SCOPES}
        scope = _Scope.of(scopes, user_id=user_id, agent_id=agent_id, run_id=run_id)
        found = self._memory.search(
            query,
            conversation_id=scope.conversation_id,
            top_k=top_k,
            filters={name: _plain(name, value) for name, value in given.items() if name not in scopes},
        ).results
        return {
            "results": [
                {**_found(result), scope.name: scope.value}
                for result in found
                if threshold is None or result.score >= threshold
            ]
        }

    def get_all(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int = 20,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
    ) -> Result:
        """The first `top_k` memories of a scope."""
        scope = _Scope.of(filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        memories = self._memory.list(scope.conversation_id, page_size=max(1, min(top_k, _WHOLE_PAGES)))
        return {"results": [_item(memory) for memory in islice(memories, top_k)]}

    def get(self, memory_id: str) -> Result | None:
        """One memory; None when there is none."""
        try:
            return _item(self._memory.get(memory_id))
        except NotFound:
            return None

    def update(self, memory_id: str, text: str | None = None, *, data: str | None = None) -> Result:
        """Correct a memory; `data` is mem0's old name for `text`."""
        new = data if text is None else text
        if new is None:
            raise ValueError("update wants a text")
        self._memory.update(memory_id, new)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> Result:
        """Take a memory out of use."""
        try:
            self._memory.delete(memory_id)
        except NotFound as exc:
            raise ValueError(f"Memory with id {memory_id} not found") from exc
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, user_id: str | None = None, *, agent_id: str | None = None, run_id: str | None = None
    ) -> Result:
        """Erase everything in a scope for good, messages included; an empty scope is no error."""
        scope = _Scope.of(user_id=user_id, agent_id=agent_id, run_id=run_id)
        with suppress(NotFound):
            self._memory.erase_conversation(scope.conversation_id)
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[Result]:
        """All changes of a memory, oldest first."""
        rows: list[Result] = []
        for number, entry in enumerate(self._memory.history(memory_id)):
            in_use = entry.status == "active"
            event = ("UPDATE" if rows else "ADD") if in_use else "DELETE"
            rows.append(
                {
                    "id": f"{memory_id}:{number}",
                    "memory_id": memory_id,
                    "old_memory": rows[-1]["new_memory"] if rows else None,
                    "new_memory": entry.text,
                    "event": event,
                    "created_at": rows[0]["created_at"] if rows else _time(entry.at),
                    "updated_at": _time(entry.at),
                    "is_deleted": not in_use,
                }
            )
        return rows


class _Scope:
    """One user, agent or run, and the conversation that stands for it."""

    def __init__(self, name: str, value: str) -> None:
        self.name = name
        self.value = value
        self.conversation_id = f"{name.removesuffix('_id')}:{value}"

    @classmethod
    def of(cls, filters: Mapping[str, Any] | None = None, **named: str | None) -> _Scope:
        """The scope of a call.

        Raises:
            ValueError: When there is none, more than one, or one that we have no conversation for.
        """
        given = {name: value for name, value in named.items() if value is not None}
        for name, value in (filters or {}).items():
            if name not in _SCOPES:
                raise ValueError(f"filter {name!r} is not supported; filter by one of {', '.join(_SCOPES)}")
            if given.setdefault(name, value) != value:
                raise ValueError(f"{name} is given twice, with different values")
        if len(given) != 1:
            raise ValueError(f"give one of {', '.join(_SCOPES)}; memory is never read or deleted as a whole")
        ((name, value),) = given.items()
        return cls(name, _id(name, value))


def _id(name: str, value: object) -> str:
    """As mem0 reads ids: numbers will do, blanks around are cut, blanks within are refused."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"{name} must be one id, not {type(value).__name__}")
    text = str(value).strip()
    if not text or "*" in text or any(character.isspace() for character in text):
        raise ValueError(f"{name} {value!r} is no id")
    return text


def _plain(name: str, value: Any) -> str | int | float | bool:
    """A value that metadata is asked for; mem0's operators are refused."""
    if name in _OPERATORS or value == "*" or not isinstance(value, str | int | float | bool):
        raise ValueError(f"filter {name!r} is not supported: a filter is one value of the messages' metadata")
    return value


def _several(messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    if isinstance(messages, str):
        return [{"content": messages}]
    return [messages] if isinstance(messages, Mapping) else [*messages]


def _message(given: Mapping[str, Any], metadata: Mapping[str, Any] | None) -> Result:
    return {"role": "user", **given, **({"metadata": dict(metadata)} if metadata else {})}


def _item(memory: models.Memory) -> Result:
    name, _, value = memory.conversation_id.partition(":")
    scope = {f"{name}_id": value} if f"{name}_id" in _SCOPES and value else {}
    return {
        "id": memory.id,
        "memory": memory.text,
        "hash": None,
        "metadata": {"type": memory.type, "track": memory.track, "subject": memory.subject},
        "created_at": _time(memory.ingested_at),
        "updated_at": None,
        **scope,
    }


def _event(memory: models.Memory) -> Result:
    event = "ADD" if memory.version == 1 else "UPDATE"
    return {"id": memory.id, "memory": memory.text, "event": event}


def _found(result: models.Found) -> Result:
    return {
        "id": result.id,
        "memory": result.text,
        "hash": None,
        "metadata": {"type": result.type},
        "score": result.score,
        "created_at": _time(result.ingested_at),
        "updated_at": None,
    }


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
