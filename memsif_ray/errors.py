"""One tree of errors; each says who must act.

```text
MemsifError
├── ConfigError          a person must change the configuration or command
│   └── EmbedderMismatch   stored vectors were made by another model or have another size
├── DataError            one input is not what it says: names the file and record
├── NotFound             nothing of that name, for this caller
├── Conflict             somebody changed it first, or it is used for something else
├── ReplyInvalid         a model's reply cannot be used; a bounded retry may help
├── MethodFault          a compared system has a bug: others go on without it
└── ServiceError         a dependency failed
    ├── ServiceBusy        429, 5xx, time-out: a retry may help
    └── RequestRefused     400: too long, content filter, refused schema: a retry cannot help
```

All of them survive pickling, so they can leave a worker process with their cause intact.
"""

from __future__ import annotations


class MemsifError(Exception):
    """Base of every error this project raises on purpose."""


class ConfigError(MemsifError):
    """The configuration or command is wrong; the message names the remedy."""


class EmbedderMismatch(ConfigError):
    """Vectors of two embedders would be mixed."""


class DataError(MemsifError):
    """An input file or record is not what it says; the message names both."""


class NotFound(MemsifError):
    """Nothing of that name exists for the caller; what belongs to another tenant does not exist."""


class Conflict(MemsifError):
    """The request does not fit what is there now; the message says what is."""


class ReplyInvalid(MemsifError):
    """A model's reply cannot be used.

    Args:
        reason: One word: `truncated`, `no_content`, `not_json`, `several_objects`, `wrong_shape`,
            `unknown_value`.
        excerpt: The end of the reply, for the log.
    """

    def __init__(self, reason: str, excerpt: str = "") -> None:
        """Keep both arguments in `args`, so that pickling restores them."""
        super().__init__(reason, excerpt)
        self.reason = reason
        self.excerpt = excerpt

    def __str__(self) -> str:
        """Reason first, then what was read."""
        return f"{self.reason}: {self.excerpt!r}" if self.excerpt else self.reason


class MethodFault(MemsifError):
    """The code of a compared system raised something unforeseen; the message says what, and where."""


class ServiceError(MemsifError):
    """A model endpoint or store failed.

    Attributes:
        attempts: How often the request was sent; the retry layer counts it.
    """

    retryable = False

    def __init__(self, message: str, code: str = "", retry_after_s: float | None = None) -> None:
        """Keep all arguments in `args`, so that pickling restores them."""
        super().__init__(message, code, retry_after_s)
        self.message = message
        self.code = code
        self.retry_after_s = retry_after_s
        self.attempts = 1

    def __str__(self) -> str:
        """Code, if any, then the message."""
        return f"[{self.code}] {self.message}" if self.code else self.message


class ServiceBusy(ServiceError):
    """Rate limit, server error or time-out."""

    retryable = True


class RequestRefused(ServiceError):
    """The server will refuse this request however often it is sent."""
