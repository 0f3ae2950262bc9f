"""What Prometheus sees. Labels are routes, statuses and kinds: never a tenant, a key or an id.

Where several servers stand behind one address, a scrape shows one of them, under its name in the label
`replica`: their numbers never mix, and rates want a window of several scrapes. What is told of the shards is
the same at all of them, and has no such label.
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest

from memsif_ray.service.backend import Backend, Load, ReportsLoad
from memsif_ray.service.models import Usage

_LATENCIES_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class Metrics:
    """The counters of one app; each has its own registry, so that two apps in a process do not mix."""

    def __init__(self, replica: str = "") -> None:
        """Start from zero. `replica` names this server where there are several."""
        self._registry = registry = _Named(replica)
        route = ("method", "route")
        self._requests = Counter(
            "memsif_requests", "Requests answered", (*route, "status"), registry=registry
        )
        self._latency = Histogram(
            "memsif_request_seconds",
            "From the request's head to the end of its reply",
            route,
            buckets=_LATENCIES_S,
            registry=registry,
        )
        self._failures = Counter("memsif_failures", "Errors by code", ("code",), registry=registry)
        self._tokens = Counter(
            "memsif_request_tokens", "Model tokens that replies report", ("kind",), registry=registry
        )
        self._embedded = Counter("memsif_embedded_texts", "Texts embedded for replies", registry=registry)
        self.in_flight = Gauge("memsif_requests_in_flight", "Requests being worked on", registry=registry)

    def answered(self, *, method: str, route: str, status: int, seconds: float) -> None:
        """Count a reply. `route` is a template, or "" where no route matched."""
        known = method if method in ("GET", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS") else "other"
        self._requests.labels(known, route, status).inc()
        self._latency.labels(known, route).observe(seconds)

    def failed(self, code: str) -> None:
        """Count an error by its code."""
        self._failures.labels(code).inc()

    def used(self, usage: Usage) -> None:
        """Count the model work that a reply reports."""
        self._tokens.labels("prompt").inc(usage.prompt_tokens)
        self._tokens.labels("completion").inc(usage.completion_tokens)
        self._embedded.inc(usage.embedded_texts)

    async def text(self, backend: Backend) -> bytes:
        """All of it in Prometheus' text format."""
        own = generate_latest(self._registry)
        if not isinstance(backend, ReportsLoad):
            return own
        return own + generate_latest(_of_load(await backend.load()))


class _Named(CollectorRegistry):
    """Gives every sample the name of its server."""

    def __init__(self, replica: str) -> None:
        super().__init__()
        self._labels = {"replica": replica} if replica else {}

    def collect(self) -> Iterator[Metric]:
        for metric in super().collect():
            metric.samples = [
                sample._replace(labels={**sample.labels, **self._labels}) for sample in metric.samples
            ]
            yield metric


def _of_load(load: Load) -> CollectorRegistry:
    """How many shards answer; sums over them only when all do, for a part would look like a loss."""
    registry = CollectorRegistry()
    Gauge("memsif_shards_up", "Shards that answer", registry=registry).set(load.shards_up)
    if load.shards_up < load.shards:
        return registry
    Gauge("memsif_queued_writes", "Stored and not digested yet", registry=registry).set(load.queued)
    Gauge("memsif_live_conversations", "Conversations in memory", registry=registry).set(
        load.live_conversations
    )
    tokens = Gauge(
        "memsif_model_tokens", "Tokens of all model work since the start", ("kind",), registry=registry
    )
    tokens.labels("prompt").set(load.usage.prompt_tokens)
    tokens.labels("completion").set(load.usage.completion_tokens)
    Gauge("memsif_model_calls", "Model calls since the start", registry=registry).set(load.usage.model_calls)
    return registry
