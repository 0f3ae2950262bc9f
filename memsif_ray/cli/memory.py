"""`memsif ingest|search|ask|export|import`: one memory, of a service or of a database in this process."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memsif_ray.cli.failures import SOME_FAILED
from memsif_ray.cli.output import AsJson, note, print_result
from memsif_ray.cli.stores import BaseUrl, Data, Model, Store, memory_at
from memsif_ray.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memsif_ray.service.models import AnswerResult, Bundle, Found, MessageIn, Operation

_STDIN = "-"
_TOGETHER = 20
"""Messages of one request: progress is told, and an interrupted ingest goes on, in such steps."""

Source = Annotated[str, typer.Argument(help="A file, or - for standard input.")]
Conversation = Annotated[str, typer.Option("--conversation", help="Whose memory.")]


def ingest(
    source: Source,
    conversation: Conversation = "memory",
    base_url: BaseUrl = None,
    data: Data = None,
    store: Store = None,
    model: Model = None,
    as_json: AsJson = False,
) -> None:
    """Remember the messages of a file.

    A JSON list of messages, an object with `messages`, one JSON object per line, or plain text with one
    message per line. A message is a text, or an object with `content` and, if known, `name`, `role`,
    `timestamp`, `id` and `session`.

    A file that is given again adds only what is new in it: messages without an id get one from their text
    and place.
    """
    messages = _messages(_read(source), source)
    if source != _STDIN:
        messages = list(map(_identified, messages, range(len(messages))))
    told = {"accepted": 0, "duplicates": 0, "failed": 0}
    with memory_at(base_url, data, store, model) as memory:
        for start in range(0, len(messages), _TOGETHER):
            some = messages[start : start + _TOGETHER]
            operation = memory.add(some, conversation_id=conversation, wait=True)
            _count(operation, told)
            note(f"{told['accepted'] + told['duplicates']} of {len(messages)} messages")
    shown = f"{told['accepted']} new, {told['duplicates']} known already"
    print_result({"conversation_id": conversation, **told}, shown, as_json=as_json)
    if told["failed"]:
        raise typer.Exit(SOME_FAILED)


def search(
    query: Annotated[str, typer.Argument(help="A question or a few words.")],
    conversation: Conversation = "memory",
    top_k: Annotated[
        int | None, typer.Option("--top-k", help="Most results; by default 10.", min=1, max=200)
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", help="Instead: as many results as this holds.", min=1)
    ] = None,
    base_url: BaseUrl = None,
    data: Data = None,
    store: Store = None,
    model: Model = None,
    as_json: AsJson = False,
) -> None:
    """What memory has to say about something, best first."""
    with memory_at(base_url, data, store, model) as memory:
        found = memory.search(query, conversation_id=conversation, top_k=top_k, max_tokens=max_tokens)
    shown = "\n".join(map(_line, found.results)) or f"nothing in {conversation}"
    print_result(found.model_dump(mode="json"), shown, as_json=as_json)


def ask(
    question: Annotated[str, typer.Argument(help="In plain words.")],
    conversation: Conversation = "memory",
    learn: Annotated[
        bool, typer.Option("--learn/--no-learn", help="Let the question's evidence grow into memories.")
    ] = True,
    base_url: BaseUrl = None,
    data: Data = None,
    store: Store = None,
    model: Model = None,
    as_json: AsJson = False,
) -> None:
    """Answer from memory, with the evidence."""
    with memory_at(base_url, data, store, model) as memory:
        reply = memory.answer(question, conversation_id=conversation, learn=learn)
    print_result(reply.model_dump(mode="json"), _shown(reply), as_json=as_json)
    if reply.answer is None:
        note(f"no answer: {reply.error}")
        raise typer.Exit(SOME_FAILED)


def export(
    conversation: Conversation = "memory",
    output: Annotated[
        str, typer.Option("--output", help="A file to write, or - for standard output.")
    ] = _STDIN,
    base_url: BaseUrl = None,
    data: Data = None,
    store: Store = None,
    model: Model = None,
    as_json: AsJson = False,
) -> None:
    """Write everything about a conversation as one JSON document, to import elsewhere."""
    with memory_at(base_url, data, store, model) as memory:
        bundle = memory.export(conversation)
    if output == _STDIN:
        print_result(bundle.model_dump(mode="json"), "", as_json=True)
        return
    Path(output).write_text(bundle.model_dump_json(), encoding="utf-8")
    told = {"conversation_id": conversation, "messages": len(bundle.messages), "file": output}
    print_result(told, f"{len(bundle.messages)} messages in {output}", as_json=as_json)


def import_(
    source: Source,
    base_url: BaseUrl = None,
    data: Data = None,
    store: Store = None,
    model: Model = None,
    as_json: AsJson = False,
) -> None:
    """Take over a conversation that was exported; ids stay the same."""
    bundle = _bundle(_read(source), source)
    with memory_at(base_url, data, store, model) as memory:
        operation = memory.import_(bundle)
    shown = f"{operation.accepted} messages of {operation.conversation_id}"
    print_result(operation.model_dump(mode="json"), shown, as_json=as_json)


def _read(source: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if source == _STDIN else Path(source).read_bytes()
        return raw.decode("utf-8-sig")
    except OSError as exc:
        raise DataError(f"{source}: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise DataError(f"{source}: not UTF-8 at byte {exc.start}") from exc


def _messages(text: str, source: str) -> list[MessageIn]:
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    if isinstance(document, dict):
        document = document.get("messages", [document])
    found = document if isinstance(document, list) else list(_lines(text, source))
    if not found:
        raise DataError(f"{source}: no messages")
    return [_message(given, f"{source}: message {place}") for place, given in enumerate(found)]


def _message(given: Any, where: str) -> MessageIn:
    from memsif_ray.service.arguments import BadArgument, checked
    from memsif_ray.service.models import MessageIn

    fields = {"content": given} if isinstance(given, str) else given
    if not isinstance(fields, dict):
        raise DataError(f"{where} is neither a text nor an object")
    try:
        return checked(MessageIn, **fields)
    except BadArgument as exc:
        raise DataError(f"{where}: {exc}") from exc


def _lines(text: str, source: str) -> Iterator[str | dict[str, Any]]:
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    as_objects = bool(lines) and lines[0][1].lstrip().startswith("{")
    for number, line in lines:
        try:
            yield json.loads(line) if as_objects else line
        except ValueError as exc:
            raise DataError(f"{source}, line {number}: {exc}") from exc


def _identified(message: MessageIn, place: int) -> MessageIn:
    if message.id is not None:
        return message
    digest = hashlib.sha256(message.model_dump_json().encode()).hexdigest()[:16]
    return message.model_copy(update={"id": f"line_{place}_{digest}"})


def _count(operation: Operation, told: dict[str, int]) -> None:
    told["accepted"] += operation.accepted
    told["duplicates"] += operation.duplicates
    if operation.status == "failed":
        told["failed"] += 1
        note(f"stored, to be digested with the next write: {operation.error}")


def _bundle(text: str, source: str) -> Bundle:
    from pydantic import ValidationError

    from memsif_ray.service.models import Bundle

    try:
        return Bundle.model_validate_json(text)
    except ValidationError as exc:
        raise DataError(f"{source} is no exported conversation: {exc.errors()[0]['msg']}") from exc


def _line(found: Found) -> str:
    return f"{found.score:.3f}  {found.type:8}  {found.text}"


def _shown(reply: AnswerResult) -> str:
    evidence = [f"  {found.type:8}  {found.text}" for found in reply.evidence]
    return "\n".join([reply.answer or "", *(["", "because of", *evidence] if evidence else [])])
