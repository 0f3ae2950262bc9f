"""Prompts are files: one template with a `system` and a `user` block, its reply's JSON schema beside it.

MemSIF's and the shared ones lie here; those of a compared system, of the diagnostics or of packing lie in a
folder of their own, and are named with it: `load("mem0/extract")`.

Rendering is strict (a missing value raises) and everything that comes from a conversation, a question or
a model goes through the `data` filter, so that text which imitates our delimiters stays text.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from jinja2 import Environment, StrictUndefined, Template

from memsif_ray.text import truncate
from memsif_ray.types import CallScope, ChatReply, ChatRequest

_TAGS = (
    *("answer", "candidate", "conversation", "draft", "episode", "evidence", "facts", "history", "memory"),
    *("notes", "page", "profile", "query", "question", "reference", "segment", "session", "statement"),
    *("summary", "target", "topic", "utterance", "window"),
)
"""Every tag that a prompt puts around data; no other may be used."""
_DELIMITER = re.compile(rf"<(/?)({'|'.join(_TAGS)})\b", re.I)


def escape(text: str) -> str:
    """Data for a prompt on one line, with our own delimiters disarmed (`<` becomes `&lt;`)."""
    return _DELIMITER.sub(r"&lt;\1\2", " ".join(str(text).split()))


def shorten(text: str, limit: int) -> str:
    """Like `escape`, and at most about `limit` characters, cut between two grapheme clusters."""
    kept = truncate(str(text), limit)
    return escape(kept if kept == text else f"{kept}…")


_ENVIRONMENT = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
_ENVIRONMENT.filters["data"] = escape
_ENVIRONMENT.filters["cut"] = shorten


@dataclass(frozen=True)
class Prompt:
    """One prompt file.

    Attributes:
        name: File name without suffix, after its folder's name if it has one.
        fingerprint: Changes with the template or the schema.
        schema: JSON schema of the reply; None for free text.
    """

    name: str
    fingerprint: str
    schema: dict[str, Any] | None
    template: Template

    def request(
        self,
        *,
        stage: str,
        scope: CallScope,
        max_tokens: int,
        temperature: float = 0.0,
        seed: int = 0,
        attempt: int = 0,
        schema: dict[str, Any] | None = None,
        parse: Callable[[ChatReply, dict[str, Any] | None], Any] | None = None,
        **values: Any,
    ) -> ChatRequest:
        """Render into a request; `schema` narrows the file's schema, e.g. to the ids on offer.

        Raises:
            jinja2.UndefinedError: When the template needs a value that is not given.
        """
        return ChatRequest(
            stage=stage,
            system=self._block("system", values),
            user=self._block("user", values),
            max_tokens=max_tokens,
            temperature=temperature,
            seed=seed,
            schema=schema or self.schema,
            prompt_id=self.name,
            prompt_fingerprint=self.fingerprint,
            scope=scope,
            attempt=attempt,
            parse=parse,
        )

    def _block(self, block: str, values: dict[str, Any]) -> str:
        context = self.template.new_context(values)
        return "".join(self.template.blocks[block](context)).strip()


@lru_cache
def load(name: str) -> Prompt:
    """The prompt called `name`.

    Raises:
        FileNotFoundError: When there is no such prompt file.
    """
    folder = files(__package__)
    source = folder.joinpath(f"{name}.j2").read_text(encoding="utf-8")
    beside = folder.joinpath(f"{name}.schema.json")
    schema_text = beside.read_text(encoding="utf-8") if beside.is_file() else ""
    digest = hashlib.sha256(f"{source}\0{schema_text}".encode()).hexdigest()[:12]
    return Prompt(
        name, digest, json.loads(schema_text) if schema_text else None, _ENVIRONMENT.from_string(source)
    )


def names() -> tuple[str, ...]:
    """Every prompt that ships, sorted."""
    return tuple(sorted(_found(files(__package__), "")))


def fingerprints(folders: Collection[str] | None = None) -> dict[str, str]:
    """Name → fingerprint of the prompts here and in `folders` (None: in all): part of what a run means."""
    return {
        name: load(name).fingerprint
        for name in names()
        if folders is None or "/" not in name or name.split("/")[0] in folders
    }


def _found(folder: Traversable, prefix: str) -> Iterator[str]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _found(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".j2"):
            yield prefix + entry.name.removesuffix(".j2")
