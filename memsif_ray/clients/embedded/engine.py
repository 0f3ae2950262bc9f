"""A language model on the CPU, many requests at a time, with no server."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from memsif_ray.clients.embedded import INSTALL
from memsif_ray.clients.embedded.grammars import grammar_of
from memsif_ray.clients.embedded.schemas import affordable
from memsif_ray.errors import ConfigError, RequestRefused, ServiceBusy, ServiceError

_LINE_LIMIT = 1 << 24
_CLOSE_S = 10.0
_NATIVE_ORIGIN = re.compile(r"^\[[\d:]+\] \S+:\d+: ")
"""Time, file and line, which native errors begin with."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How the engine uses the machine.

    Attributes:
        context_window: Most tokens of prompt and reply together.
        max_in_flight: Requests that the model works on at a time.
        max_queued: Requests that may wait beyond those; more are turned away as busy.
        kv_cache_gib: Memory for attention caches; 1 GiB holds about 150,000 tokens of the default model.
        max_batched_tokens: Tokens per step: prompts longer than this are read in pieces between other work.
        threads: CPU threads; None = all cores.
    """

    context_window: int = 32768
    max_in_flight: int = 32
    max_queued: int = 1024
    kv_cache_gib: int = 2
    max_batched_tokens: int = 512
    threads: int | None = None


class Completion(NamedTuple):
    """One reply. `finish_reason` is `stop` or `length`."""

    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int


class Engine(Protocol):
    """What the app and the chat adapter need; `EmbeddedEngine` is the real one."""

    @property
    def model(self) -> str:
        """Served name."""
        ...

    @property
    def ready(self) -> bool:
        """True while requests can be answered."""
        ...

    async def generate(
        self,
        messages: Sequence[dict[str, str]],
        max_tokens: int,
        *,
        temperature: float = 0.0,
        seed: int = 0,
        json_schema: dict[str, Any] | None = None,
    ) -> Completion:
        """Answer one conversation."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens in `text`."""
        ...


class EmbeddedEngine:
    """Runs the model in a child process and talks to it over pipes. Bound to the event loop that started it.

    Prefixes are cached: a second prompt that begins like an earlier one is read from where they differ.
    At temperature 0 the same request gets the same reply. At a higher one the random numbers are shared by
    all requests in flight, so a seed repeats a reply only when nothing else runs.
    """

    def __init__(self, folder: Path, *, model: str, settings: EngineSettings | None = None) -> None:
        """Load the tokenizer; `start` loads the model.

        Args:
            folder: OpenVINO folder, as `find_model` gives it.
            model: Served name.
            settings: None = the defaults.

        Raises:
            ConfigError: When OpenVINO GenAI is not installed.
        """
        try:
            import openvino_genai
        except ImportError as exc:
            raise ConfigError(f"the embedded model is not installed: {INSTALL}") from exc
        self._folder = folder
        self._model = model
        self._settings = settings or EngineSettings()
        self._tokenizer = openvino_genai.Tokenizer(folder)
        self._ids = itertools.count()
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None

    @property
    def model(self) -> str:
        """Served name."""
        return self._model

    @property
    def ready(self) -> bool:
        """True while the child process answers."""
        return self._reader is not None and not self._reader.done()

    async def start(self) -> None:
        """Load the model.

        Raises:
            ServiceError: When the child process ends before it is ready.
        """
        settings = asdict(self._settings) | {"folder": str(self._folder)}
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "memsif_ray.clients.embedded.worker", json.dumps(settings)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LINE_LIMIT,
            # The child finds the package where this process found it, installed or not.
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert self._process.stdout is not None  # piped above
        if not await self._process.stdout.readline():
            raise ServiceError(
                f"the model process ended with code {await self._process.wait()}", "engine_failed"
            )
        self._reader = asyncio.create_task(self._read(self._process.stdout))

    async def generate(
        self,
        messages: Sequence[dict[str, str]],
        max_tokens: int,
        *,
        temperature: float = 0.0,
        seed: int = 0,
        json_schema: dict[str, Any] | None = None,
    ) -> Completion:
        """Answer one conversation; cancelling the call frees its place.

        Args:
            messages: `role` and `content` each; the model's own chat template is applied.
            max_tokens: Most tokens of the reply.
            temperature: 0 takes the likeliest token every time.
            seed: Of the random numbers, above temperature 0.
            json_schema: The reply obeys it unless it is cut off; strings may be longer than a `maxLength`
                above 256. If it has only what `grammar_of` knows, the reply has no blanks of its own.

        Raises:
            RequestRefused: `context_length_exceeded`, or `invalid_schema` when OpenVINO cannot use it.
            ServiceBusy: When too many requests wait, or the child process ended.
        """
        prompt = self._tokenizer.apply_chat_template(list(messages), add_generation_prompt=True)
        tokens = self._encode(prompt)
        self._check(len(tokens), max_tokens)
        request = {
            "tokens": tokens,
            "max_tokens": max_tokens,
            "temperature": temperature,
            "seed": seed,
            "structure": None if json_schema is None else _structure(json_schema),
        }
        reply = await self._ask(request)
        if "code" in reply:
            raise _error(reply["code"], reply["message"])
        text = self._tokenizer.decode(reply["tokens"])
        return Completion(text, reply["finish_reason"], len(tokens), len(reply["tokens"]))

    def count_tokens(self, text: str) -> int:
        """Tokens in `text`, without the chat template; 0 for ""."""
        return len(self._encode(text))

    async def aclose(self) -> None:
        """End the child process; calls in flight fail as busy."""
        if self._process is None or self._process.stdin is None:
            return
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), _CLOSE_S)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        if self._reader is not None:
            await self._reader

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).input_ids.data[0].tolist()
        return ids

    def _check(self, prompt_tokens: int, max_tokens: int) -> None:
        window = self._settings.context_window
        if prompt_tokens + max_tokens > window:
            raise RequestRefused(
                f"{prompt_tokens} prompt and {max_tokens} reply tokens exceed the context window of {window}",
                "context_length_exceeded",
            )
        if len(self._pending) >= self._settings.max_in_flight + self._settings.max_queued:
            raise ServiceBusy("too many requests are waiting", "queue_full", retry_after_s=1.0)

    async def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        if not self.ready:
            raise ServiceBusy("the model process is not running", "engine_stopped")
        request_id = next(self._ids)
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._pending[request_id] = future
        try:
            await self._write({"id": request_id, **request}).drain()
            return await future
        except ConnectionError as exc:
            raise ServiceBusy("the model process ended", "engine_stopped") from exc
        except asyncio.CancelledError:
            self._write({"cancel": request_id})
            raise
        finally:
            del self._pending[request_id]

    def _write(self, command: dict[str, Any]) -> asyncio.StreamWriter:
        assert self._process is not None and self._process.stdin is not None  # `ready` was checked
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        return self._process.stdin

    async def _read(self, replies: asyncio.StreamReader) -> None:
        while line := await replies.readline():
            reply = json.loads(line)
            future = self._pending.get(reply["id"])
            if future is not None and not future.done():
                future.set_result(reply)
        for future in self._pending.values():
            if not future.done():
                future.set_exception(ServiceBusy("the model process ended", "engine_stopped"))


def _structure(schema: dict[str, Any]) -> dict[str, str]:
    """What a reply must look like, in OpenVINO's words: a grammar where there is one, else the schema."""
    grammar = grammar_of(schema)
    return {"json_schema": json.dumps(affordable(schema))} if grammar is None else {"grammar": grammar}


def _error(code: str, message: str) -> ServiceError:
    if code == "invalid_schema":
        # Names OpenAI's field, so that clients know what was refused.
        cause = _NATIVE_ORIGIN.sub("", message)
        return RequestRefused(f"response_format: this json_schema cannot be used: {cause}", code)
    return ServiceBusy(message, code)
