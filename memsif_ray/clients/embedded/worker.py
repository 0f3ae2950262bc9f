"""The process that runs the model: requests in on stdin, replies out on stdout, one JSON object a line.

A process of its own, because OpenVINO's `step` holds Python's global lock: in the server's process every
prompt of a few thousand tokens would stop the event loop, and with it embeddings and health checks, for
seconds. It deals in token ids only. Started by [`EmbeddedEngine`][memsif_ray.clients.embedded.engine].

```text
in   {"id": 1, "tokens": [...], "max_tokens": 9, "temperature": 0.0, "seed": 0, "structure": null}
in   {"cancel": 1}
out  {"ready": true}
out  {"id": 1, "tokens": [...], "finish_reason": "stop"}      or  "length"
out  {"id": 1, "code": "invalid_schema", "message": "..."}    or  "out_of_memory", "engine_failed"
```
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TextIO

import numpy as np
import openvino
import openvino_genai as genai

Command = dict[str, Any]
Send = Callable[[Command], None]

_SHARED_TOKENS = 256
"""Prompts that begin alike for so long are let in one after another.

The prefix cache is looked into when a request is added: of many questions about one history that came
together each would read all of it. No time is lost, since prompts are read one after another anyway.
"""
_FINISH_REASONS = {genai.GenerationFinishReason.STOP: "stop", genai.GenerationFinishReason.LENGTH: "length"}


@dataclass(slots=True)
class Running:
    """A request that the pipeline works on, and the tokens it has so far."""

    request: Command
    handle: Any
    tokens: list[int] = field(default_factory=list)
    finish_reason: str = ""


class Worker:
    """Feeds one pipeline until its input ends.

    A structure that OpenVINO cannot compile breaks the whole pipeline at the next step. So at most one that
    was never seen to work is let in at a time: when a step fails, that request is the culprit. It is
    refused, the pipeline is built anew, and everybody else starts over without noticing.
    """

    def __init__(
        self, settings: dict[str, Any], commands: queue.SimpleQueue[Command | None], send: Send
    ) -> None:
        """Load the model; `settings` are those of `EngineSettings` plus `folder`."""
        self._settings = settings
        self._commands = commands
        self._send = send
        self._waiting: deque[Command] = deque()
        self._running: dict[int, Running] = {}
        self._proven = {""}
        self._pipeline = self._load()

    def run(self) -> None:
        """Serve until a None command, which the end of input sends."""
        self._send({"ready": True})
        while self._take_commands():
            self._admit()
            try:
                self._pipeline.step()
            except RuntimeError as exc:
                self._recover(exc)
            self._collect()

    def _load(self) -> Any:
        scheduler = genai.SchedulerConfig()
        scheduler.cache_size = self._settings["kv_cache_gib"]
        scheduler.max_num_seqs = self._settings["max_in_flight"]
        scheduler.max_num_batched_tokens = self._settings["max_batched_tokens"]
        scheduler.enable_prefix_caching = True
        # Unpinned, because the cores are shared with whoever asks the questions.
        properties: dict[str, Any] = {"ENABLE_CPU_PINNING": False}
        if self._settings["threads"]:
            properties["INFERENCE_NUM_THREADS"] = self._settings["threads"]
        return genai.ContinuousBatchingPipeline(self._settings["folder"], scheduler, "CPU", properties)

    def _take_commands(self) -> bool:
        """Take all that came in, waiting when there is nothing to do; False at the end of input."""
        idle = not (self._running or self._waiting)
        while idle or not self._commands.empty():
            command = self._commands.get()
            if command is None:
                return False
            if "cancel" in command:
                self._cancel(command["cancel"])
            else:
                self._waiting.append(command)
            idle = not (self._running or self._waiting)
        return True

    def _cancel(self, request_id: int) -> None:
        self._waiting = deque(request for request in self._waiting if request["id"] != request_id)
        if running := self._running.pop(request_id, None):
            running.handle.cancel()

    def _admit(self) -> None:
        held: deque[Command] = deque()
        for request in self._waiting:
            if self._must_wait(request):
                held.append(request)
                continue
            tokens = openvino.Tensor(np.array([request["tokens"]], dtype=np.int64))
            handle = self._pipeline.add_request(request["id"], tokens, self._generation_config(request))
            self._running[request["id"]] = Running(request, handle)
        self._waiting = held

    def _must_wait(self, request: Command) -> bool:
        """Whether to wait for another's first token: to reuse its prompt, or to see its structure work."""
        if _structure(request) not in self._proven and self._suspect():
            return True
        beginning = request["tokens"][:_SHARED_TOKENS]
        unread = (running.request["tokens"] for running in self._running.values() if not running.tokens)
        return len(beginning) == _SHARED_TOKENS and any(t[:_SHARED_TOKENS] == beginning for t in unread)

    def _suspect(self) -> Running | None:
        return next((r for r in self._running.values() if _structure(r.request) not in self._proven), None)

    def _generation_config(self, request: Command) -> Any:
        config = genai.GenerationConfig()
        config.max_new_tokens = request["max_tokens"]
        config.do_sample = request["temperature"] > 0
        if config.do_sample:
            config.temperature = request["temperature"]
            config.rng_seed = request["seed"]
        if request["structure"]:  # `grammar` or `json_schema`
            config.structured_output_config = genai.StructuredOutputConfig(**request["structure"])
        # A model may end its turn with more tokens than one; its folder says so.
        config.stop_token_ids = self._pipeline.get_config().stop_token_ids
        config.set_eos_token_id(self._pipeline.get_tokenizer().get_eos_token_id())
        return config

    def _collect(self) -> None:
        for request_id, running in list(self._running.items()):
            while running.handle.can_read():
                for output in running.handle.read().values():
                    running.tokens += output.generated_ids
                    running.finish_reason = _FINISH_REASONS.get(output.finish_reason, "")
                self._proven.add(_structure(running.request))
            if running.handle.get_status() != genai.GenerationStatus.RUNNING:
                del self._running[request_id]
                self._send(_reply(request_id, running))

    def _recover(self, exc: RuntimeError) -> None:
        culprit = self._suspect()
        failed = [culprit] if culprit else list(self._running.values())
        code = "invalid_schema" if culprit else "engine_failed"
        for running in failed:
            del self._running[running.request["id"]]
            self._send({"id": running.request["id"], "code": code, "message": str(exc).strip()})
        self._waiting.extendleft(running.request for running in reversed(self._running.values()))
        self._running.clear()
        del self._pipeline  # before the new one needs the same memory
        self._pipeline = self._load()


def _structure(request: Command) -> str:
    """What the reply must look like, as one text; "" for anything."""
    return "".join((request["structure"] or {}).values())


def _reply(request_id: int, running: Running) -> Command:
    if not running.finish_reason:
        message = "the key-value cache is too small for this request"
        return {"id": request_id, "code": "out_of_memory", "message": message}
    return {"id": request_id, "tokens": running.tokens, "finish_reason": running.finish_reason}


def _read(source: TextIO, commands: queue.SimpleQueue[Command | None]) -> None:
    for line in source:
        commands.put(json.loads(line))
    commands.put(None)


def main() -> None:
    """Serve on stdin and stdout; the first argument is the settings as JSON."""
    # Ctrl-C reaches the whole terminal group; the parent decides when this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever native code prints must not mix with the replies.
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1, encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    commands: queue.SimpleQueue[Command | None] = queue.SimpleQueue()

    threading.Thread(target=_read, args=(sys.stdin, commands), daemon=True).start()

    def send(reply: Command) -> None:
        replies.write(json.dumps(reply) + "\n")

    Worker(json.loads(sys.argv[1]), commands, send).run()


if __name__ == "__main__":
    main()
