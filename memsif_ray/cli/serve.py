"""`memsif serve`: the memory service on this machine."""

from __future__ import annotations

import ipaddress
import logging
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memsif_ray.cli.output import AsJson, note, print_result, stdout_kept_clean
from memsif_ray.cli.stores import Data, Store
from memsif_ray.errors import ConfigError, ServiceBusy, ServiceError

if TYPE_CHECKING:
    from ray.serve import Application

    from serve.laptop import LaptopArgs

_APP = "memory"
_POLL_S = 0.5
_READY_S = 600.0


def serve(
    host: Annotated[
        str, typer.Option("--host", help="Address to listen at; other machines need --keys.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535)] = 8000,
    data: Data = None,
    store: Store = None,
    model: Annotated[
        str | None,
        typer.Option("--model", help="Embedded model; with --base-url the served name.", show_default=False),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option("--base-url", help="OpenAI-compatible endpoint instead.", show_default=False),
    ] = None,
    embedder: Annotated[str | None, typer.Option("--embedder", help="Embedder.", show_default=False)] = None,
    embedder_url: Annotated[
        str | None, typer.Option("--embedder-url", help="Embedding endpoint instead.", show_default=False)
    ] = None,
    keys: Annotated[
        bool, typer.Option("--keys/--no-keys", help="Ask for API keys, see `memsif keys`.")
    ] = False,
    shards: Annotated[int, typer.Option("--shards", help="Processes that own memories.", min=1)] = 2,
    per_minute: Annotated[
        int | None,
        typer.Option("--per-minute", help="Requests that a tenant may make.", min=1, show_default="600"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Serve memory over HTTP: models, memory and API together, until Ctrl-C.

    Without keys it serves one tenant, to this machine only. What was acknowledged is in the database, so it
    can be stopped at any time; the same command goes on from there.
    """
    if not (keys or _is_loopback(host)):
        raise ConfigError(
            f"--host {host} lets other machines in: add --keys, and make one with memsif keys add"
        )
    _refuse_taken(host, port)
    from memsif_ray.config import ExecutionConfig
    from memsif_ray.runtime.session import ray_session
    from serve.laptop import LaptopArgs

    given = {
        "data": data,
        "store": store,
        "model": model,
        "base_url": base_url,
        "embedder": embedder,
        "embedder_url": embedder_url,
        "keys": keys,
        "shards": shards,
        "per_minute": per_minute,
        "listen": {"host": host, "port": port},
    }
    args = LaptopArgs.model_validate({k: v for k, v in given.items() if v is not None})
    with stdout_kept_clean():
        _prepare(args)
        # Ray's core takes SIGTERM for itself when it starts, so we listen for it after that.
        with ray_session(ExecutionConfig()), _stopping() as stop, _running(args):
            url = f"http://{_address(host, port)}"
            _await_ready(url, stop)
            if not stop.is_set():
                _announce(args, url)
                print_result(_plain(args, url), "", as_json=True) if as_json else None
            stop.wait()
            note("finishing what has begun; once more Ctrl-C to stop at once")
    note("stopped")


def _prepare(args: LaptopArgs) -> None:
    """Say first what takes long, and fail here where the message is seen."""
    from memsif_ray.clients.embedded.weights import find_model

    if args.base_url is None:
        find_model(args.model, progress=note)
    note(f"starting {args.model}, {args.shards} shards and the API")


@contextmanager
def _running(args: LaptopArgs) -> Iterator[None]:
    from ray import serve as ray_serve

    from serve.laptop import app

    with _told("did not start"):
        if ray_serve.status().applications:
            raise ConfigError("Ray Serve already runs on this cluster: deploy serve/laptop.yaml there")
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        ray_serve.start(proxy_location="Disabled")  # the replica listens itself
    try:
        _deploy(app(args))
        yield
    finally:
        with _told("did not end in good order; what was acknowledged is stored"):
            ray_serve.delete(_APP)
            ray_serve.shutdown()  # type: ignore[no-untyped-call]


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Ray's own failures as one line.

    Raises:
        ServiceError: Instead of what Ray raises.
    """
    from ray.exceptions import RayError
    from ray.serve.exceptions import RayServeException

    try:
        yield
    except (RuntimeError, TimeoutError, RayError, RayServeException) as exc:
        said = (str(exc).strip() or type(exc).__name__).splitlines()[0]
        raise ServiceError(
            f"Ray Serve {what}: {said}. Start again when the machine is less busy", "ray_serve"
        ) from exc


def _deploy(application: Application) -> None:
    from ray import serve as ray_serve

    with _told("did not start"):
        try:
            ray_serve.run(application, name=_APP, route_prefix="/")
        except RuntimeError as exc:  # which says only that it failed; the cause is in the status
            found = ray_serve.status().applications.get(_APP)
            messages = [one.message.strip() for one in found.deployments.values()] if found else []
            causes = "; ".join(message.rpartition("\n")[2] for message in messages if message)
            if not causes:
                raise
            raise ConfigError(f"the service did not start: {causes}") from exc


def _await_ready(url: str, stop: threading.Event) -> None:
    import httpx

    deadline, said = time.monotonic() + _READY_S, ""
    while not stop.wait(_POLL_S):
        try:
            reply = httpx.get(f"{url}/health/ready", timeout=60.0)
        except httpx.HTTPError as exc:
            fault = type(exc).__name__
        else:
            if reply.is_success:
                return
            fault = _fault_of(reply)
        if fault != said:
            note(f"not ready yet: {fault}")
            said = fault
        if time.monotonic() > deadline:
            raise ServiceBusy(f"not ready after {_READY_S:.0f} s: {fault}")


def _fault_of(reply: Any) -> str:
    try:
        return str(reply.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {reply.status_code}"


def _announce(args: LaptopArgs, url: str) -> None:
    note(f"ready at {url}: API at {url}/docs, inspector at {url}/inspector")
    note(f"memory in {_shown_store(args)}")
    if args.keys:
        note("requests need a key: memsif keys add TENANT")
    else:
        note("development mode: no keys, so this machine only")


def _plain(args: LaptopArgs, url: str) -> dict[str, Any]:
    return {"url": url, "store": _shown_store(args), "model": args.model, "keys": args.keys}


def _shown_store(args: LaptopArgs) -> str:
    """Without the password that a URL may hold."""
    scheme, colon, rest = args.store_url.partition("://")
    return f"{scheme}{colon}{rest.rpartition('@')[2]}"


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """An event that the first SIGINT or SIGTERM sets; a second one acts as usual."""
    stop = threading.Event()
    usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def on_signal(_number: int, _frame: object) -> None:
        stop.set()
        restore()

    def restore() -> None:
        for number, handler in usual.items():
            signal.signal(number, handler)

    for number in usual:
        signal.signal(number, on_signal)
    try:
        yield stop
    finally:
        restore()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _refuse_taken(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as exc:
            raise ConfigError(
                f"cannot listen at {host}:{port} ({exc.strerror}): choose another --port"
            ) from exc


def _address(host: str, port: int) -> str:
    """Where this machine reaches it."""
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"{name}:{port}"
