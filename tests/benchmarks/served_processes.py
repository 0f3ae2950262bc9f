"""The processes behind the benchmark of the service, and what each of them uses."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import httpx

from memsif_ray.clients.scripted_server import scripted_server

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20
_GROUPS = {
    "ray::MemoryShard": "shards",
    "ray::ServeReplica:memory:memory-api": "API",
    "ray::ProxyActor": "proxy of Ray Serve",
}
"""Beginnings of process titles; whatever else the service has started is Ray's own."""


class Service:
    """A running `memsif serve` on a scripted model.

    Attributes:
        url: Of its API.
        model_url: Of the model, which runs in a process of its own.
    """

    def __init__(self, folder: Path, model_url: str, model_pid: int) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        self.url, self.model_url, self._model_pid = f"http://127.0.0.1:{port}", model_url, model_pid
        self._command = [sys.executable, "-m", "memsif_ray", "serve", "--port", str(port)]
        self._command += ["--data", str(folder), "--base-url", model_url, "--model", "scripted"]
        self._command += ["--embedder", "hash-64", "--embedder-url", model_url, "--per-minute", "10000000"]
        self._log = folder / "serve.log"
        self.process: subprocess.Popen[bytes]

    def start(self) -> float:
        """Seconds until it is ready."""
        began = time.monotonic()
        with self._log.open("a") as log:
            self.process = subprocess.Popen(
                self._command, stdout=log, stderr=log, start_new_session=True, cwd=Path.cwd()
            )
        while True:
            if self.process.poll() is not None:
                raise SystemExit(self._log.read_text())
            try:
                if httpx.get(f"{self.url}/health/ready", timeout=30).is_success:
                    return time.monotonic() - began
            except httpx.TransportError:
                pass
            time.sleep(0.2)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(180)

    def shards(self) -> list[int]:
        """Process ids of its shards: those of the session of Ray that this service started."""
        return [pid for pid, title in _descendants(self.process.pid) if title.startswith("ray::MemoryShard")]

    def memory_mib(self) -> float:
        """Resident memory of the shards."""
        pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in self.shards()]
        return sum(pages) * _PAGE_MIB

    def cpu_s(self) -> Counter[str]:
        """Processor time so far, by whose it is; the last two are the benchmark's own."""
        spent: Counter[str] = Counter()
        for pid, title in _descendants(self.process.pid):
            group = next((name for begin, name in _GROUPS.items() if title.startswith(begin)), "rest of Ray")
            spent[group] += _cpu_s(pid)
        spent["model (benchmark)"] = _cpu_s(self._model_pid)
        spent["client (benchmark)"] = time.process_time()
        return spent


@contextmanager
def running() -> Iterator[tuple[Service, float]]:
    """A service in an empty folder, and how long it took to start."""
    with tempfile.TemporaryDirectory() as folder, _model() as (url, pid):
        service = Service(Path(folder), url, pid)
        started_s = service.start()
        try:
            yield service, started_s
        finally:
            service.stop()


@contextmanager
def _model() -> Iterator[tuple[str, int]]:
    """In a process of its own: in a thread, it and the client would wait for each other."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve_model, args=(theirs,), daemon=True)
    process.start()
    try:
        yield ours.recv(), process.pid or 0
    finally:
        ours.send("enough")
        process.join(10)


def _serve_model(owner: Connection) -> None:
    with scripted_server() as model:
        owner.send(model.base_url)
        owner.recv()


def _cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _descendants(root: int) -> list[tuple[int, str]]:
    parents, titles = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            titles[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
    found, ring = [], [root]
    while ring:
        ring = [pid for pid, parent in parents.items() if parent in ring]
        found += ring
    return [(pid, titles[pid]) for pid in found]
