"""What a run needs of a machine, one check each; every finding that is not good names the remedy."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import httpx
import platformdirs

from memsif_ray.config import EmbedderConfig, ModelConfig, RunConfig
from memsif_ray.errors import MemsifError

_NEEDED = ("ray", "numpy", "pyarrow", "polars", "pydantic", "openai")
_EMBEDDED = ("torch", "sentence-transformers", "openvino-genai", "spacy")
_INSTALL = "pip install 'memsif-ray[embedded]'"
_GIB = 1024**3
_DISK_GIB = 2.0
_MEMORY_GIB = 4.0
_TIMEOUT_S = 10.0


class Finding(NamedTuple):
    """The outcome of one check.

    Attributes:
        name: What was looked at.
        ok: Whether it is good.
        detail: What was found.
        remedy: What to do about it; "" when nothing.
        needed: False when a run may do without.
    """

    name: str
    ok: bool
    detail: str
    remedy: str = ""
    needed: bool = True


def check_packages(config: RunConfig) -> Finding:
    """Python packages; those of the extra only when the configuration uses them."""
    embedded = config.model.base_url is None or config.embedder.base_url is None
    versions = {name: _version(name) for name in (*_NEEDED, *_EMBEDDED)}
    missing = [name for name in _NEEDED if versions[name] is None]
    missing += [name for name in _EMBEDDED if versions[name] is None and embedded]
    if missing:
        return Finding("packages", False, f"missing: {', '.join(missing)}", _INSTALL)
    return Finding("packages", True, ", ".join(f"{name} {v}" for name, v in versions.items() if v))


def check_model(config: RunConfig) -> Finding:
    """The endpoint and the model behind it, or the embedded model."""
    if config.model.base_url is None:
        return _embedded_model(config.model)
    url = f"{config.model.base_url.rstrip('/')}/models"
    key = os.environ.get(config.model.api_key_env)
    try:
        reply = httpx.get(url, headers={"Authorization": f"Bearer {key}"} if key else {}, timeout=_TIMEOUT_S)
        reply.raise_for_status()
        served = [str(entry["id"]) for entry in reply.json()["data"]]
    except (httpx.HTTPError, ValueError, KeyError, TypeError) as exc:
        remedy = f"start the server, or correct --base-url; is its key in {config.model.api_key_env}?"
        return Finding("model", False, f"{url}: {type(exc).__name__} {exc}", remedy)
    if config.model.model not in served:
        remedy = f"--model {served[0]}" if served else "load a model into the server"
        return Finding("model", False, f"{url} serves {', '.join(served) or 'nothing'}", remedy)
    return Finding("model", True, f"{config.model.model} at {config.model.base_url}")


def check_embedder(config: RunConfig) -> Finding:
    """One sentence, embedded."""
    from memsif_ray.clients.embedders import make_embedder

    try:
        vector = asyncio.run(make_embedder(config.embedder).embed(["Is anybody there?"]))
    except MemsifError as exc:
        return Finding("embedder", False, str(exc), _embedder_remedy(config.embedder))
    return Finding("embedder", True, f"{config.embedder.model}, {vector.shape[1]} numbers per text")


def check_entities(config: RunConfig) -> Finding:
    """One sentence, searched for key entities."""
    from memsif_ray.clients.entities import make_entities

    try:
        extractor = make_entities(config.entities)
        (found,) = extractor.extract(["Ada met Karim in Lisbon."])
    except MemsifError as exc:
        return Finding("entities", False, str(exc), f"{_INSTALL}, or --set entities=rules")
    return Finding(
        "entities", True, f"{type(extractor).__name__} finds {', '.join(sorted(found)) or 'nothing'}"
    )


def check_ray(config: RunConfig) -> Finding:
    """Start a local Ray, or join the cluster."""
    import ray

    from memsif_ray.runtime.session import ray_session

    try:
        with ray_session(config.execution):
            resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
            cpus = int(resources.get("CPU", 0))
    except MemsifError as exc:
        return Finding("ray", False, str(exc), "unset RAY_ADDRESS for a local Ray, or start the cluster")
    return Finding("ray", True, f"{cpus} CPUs, shards {config.execution.shards}")


def check_disk(config: RunConfig) -> Finding:
    """Space where runs are written."""
    folder = config.execution.output.resolve()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free / _GIB
    remedy = "" if free >= _DISK_GIB else f"free {_DISK_GIB:.0f} GiB, or choose another --output"
    return Finding("disk", not remedy, f"{free:.1f} GiB free in {folder}", remedy)


def check_memory(config: RunConfig) -> Finding:
    """Main memory of the machine."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    remedy = "" if total >= _MEMORY_GIB else "use a model behind an endpoint, and --shards 1"
    return Finding("memory", not remedy, f"{total:.1f} GiB", remedy, needed=False)


def check_cache(config: RunConfig) -> Finding:
    """The folder that keeps converted models, vectors and profiles."""
    folder = Path(platformdirs.user_cache_dir("memsif-ray"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as exc:
        return Finding("cache", False, str(exc), "set XDG_CACHE_HOME to a folder that you may write to")
    return Finding("cache", True, str(folder))


Check = Callable[[RunConfig], Finding]
CHECKS: tuple[Check, ...] = (
    check_packages,
    check_disk,
    check_memory,
    check_cache,
    check_model,
    check_embedder,
    check_entities,
    check_ray,
)
"""In the order in which they are shown."""


def _embedded_model(model: ModelConfig) -> Finding:
    from memsif_ray.clients.embedded.weights import find_model

    try:
        folder = find_model(model.model)
    except MemsifError as exc:
        return Finding("model", False, str(exc), "or name a server: --base-url URL --model NAME")
    return Finding("model", True, f"{model.model}, embedded, {folder}")


def _embedder_remedy(embedder: EmbedderConfig) -> str:
    return _INSTALL if embedder.base_url is None else f"start the embedding server at {embedder.base_url}"


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
