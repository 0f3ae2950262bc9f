"""The only place that connects to Ray, and disconnects only what it connected."""

from __future__ import annotations

import logging
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ray
from ray.data import DataContext

import memsif_ray
from memsif_ray.config import ExecutionConfig
from memsif_ray.errors import ConfigError, ServiceError

NAMESPACE = "memsif"
_PATIENCE_S = 10.0
_JOB_MARK = "RAY_JOB_CONFIG_JSON_ENV_VAR"  # set for the driver of a submitted job


@contextmanager
def ray_session(execution: ExecutionConfig, *, env: Mapping[str, str] | None = None) -> Iterator[None]:
    """A connection to Ray for the block.

    In order of preference: the connection that the caller already has; the cluster of a submitted job or of
    `RAY_ADDRESS`; the cluster at `execution.ray_address`; a local Ray started for this block.

    Args:
        execution: Where to connect.
        env: Environment variables that workers on other machines need, such as an API key. A submitted job
            states its own.

    Raises:
        ConfigError: When the named cluster cannot be reached.
        ServiceError: When a local Ray does not start.
        KeyboardInterrupt: On SIGTERM too.
    """
    _set_up_data()
    if ray.is_initialized():
        yield
        return
    address = os.environ.get("RAY_ADDRESS") or execution.ray_address
    if address is None:
        _start()
    else:
        _connect(address, env or {})
    try:
        with _ended_alike():
            yield
    finally:
        ray.shutdown()


@contextmanager
def _ended_alike() -> Iterator[None]:
    """SIGTERM is Ctrl-C for the block: Ray's core would end the process with a stack trace and no farewell.

    Only in a program's main thread, the one that signals are handled in.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, usual or signal.SIG_DFL)


def _start() -> None:
    # A local Ray listens to this machine only: no token is needed, and one left over from some cluster
    # must not stop it. Its core prints a warning about Ray Data's own actors at every start.
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        ray.init(
            address="local",
            namespace=NAMESPACE,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.WARNING,
        )
    except Exception as exc:  # a start that takes too long has no other kind at Ray
        raise ServiceError(
            f"Ray did not start on this machine: {_first_line(exc)}. Its processes need some memory, room in "
            f"{tempfile.gettempdir()} and 30 seconds of a CPU: start again when the machine is less busy. "
            "`ray stop` ends what an earlier Ray left",
            "ray_start",
        ) from exc


def _connect(address: str, env: Mapping[str, str]) -> None:
    try:
        ray.init(**_cluster(address, env))
    except (OSError, RuntimeError, ray.exceptions.RayError) as exc:
        raise ConfigError(f"cannot connect to Ray at {address}: {_first_line(exc)}") from exc


def _first_line(exc: Exception) -> str:
    return (str(exc).strip() or type(exc).__name__).splitlines()[0].rstrip(".")


def _cluster(address: str, env: Mapping[str, str]) -> dict[str, Any]:
    _refuse_dead(address)
    connection: dict[str, Any] = {"address": address, "namespace": NAMESPACE}
    if _JOB_MARK not in os.environ:
        package = Path(memsif_ray.__file__).parent
        connection["runtime_env"] = {"py_modules": [str(package)], "env_vars": dict(env)}
    return connection


def _refuse_dead(address: str) -> None:
    """Ray itself would try for minutes to reach a host that does not answer.

    Raises:
        OSError: When nothing listens at a `host:port` or `ray://host:port`.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdigit() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE_S).close()


def _set_up_data() -> None:
    """Process-wide, hence here: our own progress replaces Ray Data's, and what fails is raised anyway.

    Ray Data gives up where no row came out for half an hour, but one conversation may rightly take a slow
    model hours; every call of a model has its own deadline.
    """
    context = DataContext.get_current()
    context.execution_no_progress_timeout_s = -1
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
