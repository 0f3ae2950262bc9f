"""`memsif ingest|search|ask|export|import`: one memory, of a service or of a database in this process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memsif_ray.cli.failures import SOME_FAILED
from memsif_ray.cli.output import AsJson, note, print_result, stdout_kept_clean
from memsif_ray.cli.sources import STDIN, bundle_in, messages_in
from memsif_ray.cli.stores import Place, at_a_place, memory_at

if TYPE_CHECKING:
    from memsif_ray.service.models import AnswerResult, Found, Operation

_TOGETHER = 20
"""Messages of one request: progress is told, and an interrupted ingest goes on, in such steps."""

Source = Annotated[str, typer.Argument(help="A file, or - for standard input.")]
Conversation = Annotated[str, typer.Option("--conversation", help="Whose memory.")]


@at_a_place
def ingest(
    place: Place,
    source: Source,
    conversation: Conversation = "memory",
    as_json: AsJson = False,
) -> None:
    """Remember the messages of a file.

    A JSON list of messages, an object with `messages`, one JSON object per line, or plain text with one
    message per line. A message is a text, or an object with `content` and, if known, `name`, `role`,
    `timestamp`, `id` and `session`.

    A file that is given again adds only what is new in it: messages without an id get one from their text
    and place.
    """
    messages = messages_in(source)
    told = {"accepted": 0, "duplicates": 0, "failed": 0}
    with stdout_kept_clean(), memory_at(place) as memory:
        for start in range(0, len(messages), _TOGETHER):
            some = messages[start : start + _TOGETHER]
            operation = memory.add(some, conversation_id=conversation, wait=True)
            _count(operation, told)
            note(f"{told['accepted'] + told['duplicates']} of {len(messages)} messages")
    shown = f"{told['accepted']} new, {told['duplicates']} known already"
    print_result({"conversation_id": conversation, **told}, shown, as_json=as_json)
    if told["failed"]:
        raise typer.Exit(SOME_FAILED)


@at_a_place
def search(
    place: Place,
    query: Annotated[str, typer.Argument(help="A question or a few words.")],
    conversation: Conversation = "memory",
    top_k: Annotated[
        int | None, typer.Option("--top-k", help="Most results; by default 10.", min=1, max=200)
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", help="Instead: as many results as this holds.", min=1)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What memory has to say about something, best first."""
    with stdout_kept_clean(), memory_at(place) as memory:
        found = memory.search(query, conversation_id=conversation, top_k=top_k, max_tokens=max_tokens)
    shown = "\n".join(map(_line, found.results)) or f"nothing in {conversation}"
    print_result(found.model_dump(mode="json"), shown, as_json=as_json)


@at_a_place
def ask(
    place: Place,
    question: Annotated[str, typer.Argument(help="In plain words.")],
    conversation: Conversation = "memory",
    learn: Annotated[
        bool, typer.Option("--learn/--no-learn", help="Let the question's evidence grow into memories.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Answer from memory, with the evidence."""
    with stdout_kept_clean(), memory_at(place) as memory:
        reply = memory.answer(question, conversation_id=conversation, learn=learn)
    print_result(reply.model_dump(mode="json"), _shown(reply), as_json=as_json)
    if reply.answer is None:
        note(f"no answer: {reply.error}")
        raise typer.Exit(SOME_FAILED)


@at_a_place
def export(
    place: Place,
    conversation: Conversation = "memory",
    output: Annotated[
        str, typer.Option("--output", help="A file to write, or - for standard output.")
    ] = STDIN,
    as_json: AsJson = False,
) -> None:
    """Write everything about a conversation as one JSON document, to import elsewhere."""
    with stdout_kept_clean(), memory_at(place) as memory:
        bundle = memory.export(conversation)
    if output == STDIN:
        print_result(bundle.model_dump(mode="json"), "", as_json=True)
        return
    Path(output).write_text(bundle.model_dump_json(), encoding="utf-8")
    told = {"conversation_id": conversation, "messages": len(bundle.messages), "file": output}
    print_result(told, f"{len(bundle.messages)} messages in {output}", as_json=as_json)


@at_a_place
def import_(
    place: Place,
    source: Source,
    as_json: AsJson = False,
) -> None:
    """Take over a conversation that was exported; ids stay the same."""
    bundle = bundle_in(source)
    with stdout_kept_clean(), memory_at(place) as memory:
        operation = memory.import_(bundle)
    shown = f"{operation.accepted} messages of {operation.conversation_id}"
    print_result(operation.model_dump(mode="json"), shown, as_json=as_json)


def _count(operation: Operation, told: dict[str, int]) -> None:
    told["accepted"] += operation.accepted
    told["duplicates"] += operation.duplicates
    if operation.status == "failed":
        told["failed"] += 1
        note(f"stored, to be digested with the next write: {operation.error}")


def _line(found: Found) -> str:
    return f"{found.score:.3f}  {found.type:8}  {found.text}"


def _shown(reply: AnswerResult) -> str:
    evidence = [f"  {found.type:8}  {found.text}" for found in reply.evidence]
    return "\n".join([reply.answer or "", *(["", "because of", *evidence] if evidence else [])])
