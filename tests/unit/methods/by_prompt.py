"""A script that answers each prompt of a compared system by its name, and what was asked of it."""

import json

from memsif_ray.schemas import DECISIONS, NOTES
from memsif_ray.storage.tables import decode, encode
from memsif_ray.types import Decision, Note


def by_prompt(**replies):
    """Replies by the prompt's name within its folder: plain data, or a function of the request."""

    def script(request):
        reply = replies[request.prompt_id.split("/")[-1]]
        said = reply(request) if callable(reply) else reply
        return said if said is None or isinstance(said, str) else json.dumps(said)

    return script


def asked(tools, name):
    """The user messages that a prompt was rendered to, in calling order."""
    return [r.user for r in tools.chat.requests if r.prompt_id.endswith(f"/{name}")]


def stored(tables):
    """A dump as it comes back from Parquet's types."""
    scope = {"method": "m", "conversation_id": "c1", "run": None}
    return {
        "notes": decode(encode(tables["notes"], NOTES, **scope), Note),
        "decisions": decode(encode(tables["decisions"], DECISIONS, **scope), Decision),
    }
