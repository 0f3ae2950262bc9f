"""What a reply says when a request failed."""

from __future__ import annotations

from memsif_ray.service.models.words import Model


class ErrorDetail(Model):
    """What went wrong, in the shape that OpenAI's API gives it.

    Attributes:
        type: Its family, e.g. `invalid_request_error`.
        code: One word to branch on, e.g. `not_found`; a model server's own where it failed.
        param: The field at fault, where there is one.
        request_id: Of the log lines about it.
    """

    type: str
    code: str
    message: str
    param: str | None = None
    request_id: str = ""


class ErrorOut(Model):
    """The body of every reply that is an error."""

    error: ErrorDetail
