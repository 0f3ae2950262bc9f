"""What was used, and who did what."""

from __future__ import annotations

from datetime import datetime

from memsif_ray.service.models.words import Model


class Usage(Model):
    """Model work that a request caused."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    model_calls: int = 0
    embedded_texts: int = 0


class AuditEntry(Model):
    """Who did what to which resource; never any text."""

    at: datetime
    key_id: str
    request_id: str
    action: str
    target: str


class TenantUsage(Model):
    """What a tenant has used since `since`."""

    since: datetime | None
    requests: int
    prompt_tokens: int
    completion_tokens: int
    model_calls: int
    embedded_texts: int
