"""What an operator may set about the HTTP side."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field, field_validator

from memsif_ray.config import Strict

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Replica:
    """Which of several equal servers behind one address this is.

    Attributes:
        name: Label of its metrics; "" when it is the only one.
        of: How many there are. Each grants its part of the requests per minute, so that together they grant
            no more than the limit; that costs a client a little where they are not asked evenly, and spares
            every request a question to whoever else would count.
    """

    name: str = ""
    of: int = 1


class TenantLimits(Strict):
    """What one tenant may do; None = as everybody.

    Attributes:
        per_minute: Requests of all its keys together. A key's own limit holds beside it.
        max_body_bytes: Largest request body.
    """

    per_minute: int | None = Field(None, ge=1)
    max_body_bytes: int | None = Field(None, ge=1)


class ApiSettings(Strict):
    """Limits are chosen so that a laptop survives its clients; none of them changes what memory holds.

    Attributes:
        per_minute: Requests that a tenant may make, in bursts of at most a minute's worth; a key's own
            limit holds beside it.
        max_body_bytes: Largest request body, counted as it arrives.
        max_import_bytes: The same for `POST /v1/import`.
        max_header_bytes: Headers and address together.
        max_json_depth: Nesting of a body.
        max_in_flight: Requests worked on at a time; above it 503.
        body_timeout_s: Longest pause while a body arrives.
        request_timeout_s: Until a reply begins.
        stream_timeout_s: From the beginning of a reply to its end.
        stream_idle_s: Longest silence of the chat model behind `/v1/chat/completions`.
        drain_s: How long a shutdown waits for what is being worked on.
        ready_cache_s: How long a result of `/health/ready` is good, so that probes do not load the model.
        chat_memory_tokens: Budget of the evidence that is shown to the chat model.
        tenants: Exceptions, by tenant.
        allowed_hosts: Values of the Host header that are served; empty = any, and in development mode the
            names of this machine only.
        cors_origins: Pages that browsers let read replies; empty = none.
    """

    per_minute: int = Field(600, ge=1)
    max_body_bytes: int = Field(8 * MIB, ge=1)
    max_import_bytes: int = Field(128 * MIB, ge=1)
    max_header_bytes: int = Field(16 * 1024, ge=1024)
    max_json_depth: int = Field(32, ge=2, le=200)
    max_in_flight: int = Field(256, ge=1)
    body_timeout_s: float = Field(15, gt=0)
    request_timeout_s: float = Field(120, gt=0)
    stream_timeout_s: float = Field(600, gt=0)
    stream_idle_s: float = Field(60, gt=0)
    drain_s: float = Field(25, ge=0)
    ready_cache_s: float = Field(5, ge=0)
    chat_memory_tokens: int = Field(1_500, ge=1)
    tenants: dict[str, TenantLimits] = Field(default_factory=dict)
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()

    @field_validator("cors_origins")
    @classmethod
    def _named(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        if "*" in origins:
            raise ValueError("name the pages: any page of the web could read memory otherwise")
        return origins

    def per_minute_of(self, tenant: str) -> int:
        """Requests that the tenant may make in a minute."""
        own = self.tenants.get(tenant)
        return (own and own.per_minute) or self.per_minute

    def max_body_of(self, tenant: str, path: str) -> int:
        """Bytes that a body of the tenant may have at this address."""
        own = self.tenants.get(tenant)
        usual = self.max_import_bytes if path == "/v1/import" else self.max_body_bytes
        return (own and own.max_body_bytes) or usual
