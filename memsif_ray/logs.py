"""Log lines as JSON, one a line, joined by request ids. No message text, no query, no secret.

The access line knows the route's template and never the address, whose query may hold ids of people.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import uuid
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TextIO

_REQUEST_ID: ContextVar[str] = ContextVar("memsif_request_id", default="")
_SANE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


def request_id() -> str:
    """Of the request being worked on; "" outside of one."""
    return _REQUEST_ID.get()


def begin_request(offered: str | None) -> str:
    """Take over the caller's request id if it is sane (it ends up in logs), else make one."""
    chosen = offered if offered and _SANE.fullmatch(offered) else f"req_{uuid.uuid4().hex}"
    _REQUEST_ID.set(chosen)
    return chosen


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, event, request id, and what `extra` adds.

    A traceback is given as its places only: the text of an exception may quote what a user said. So may what
    asyncio puts below its first line about a task that failed.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage().partition("\n")[0],
            "request_id": request_id(),
        }
        line |= {name: value for name, value in vars(record).items() if _is_extra(name)}
        if record.exc_info and record.exc_info[1] is not None:
            line |= without_words(record.exc_info[1])
        return json.dumps({name: value for name, value in line.items() if value != ""}, default=str)


def _is_extra(name: str) -> bool:
    """Given by the call that logs: neither the library's own nor what Ray hangs on every record (`_ray…`)."""
    return name not in _STANDARD and not name.startswith("_")


def without_words(error: BaseException) -> dict[str, object]:
    """Kind and places of an error, outermost call first."""
    places = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return {"error": type(error).__name__, "places": places}


def log_as_json(stream: TextIO = sys.stderr, *, level: int = logging.INFO) -> None:
    """Send all log lines of this process to `stream`, for a server's main program.

    Uvicorn's own access lines hold addresses with their queries, so they are silenced: ours replace them.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = name != "uvicorn.access"
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs every address at INFO
