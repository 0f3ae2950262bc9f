"""Where distributed work is done: Ray, the models' endpoints, and progress on stderr."""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import platformdirs
import ray

from memsif_ray.config import RunConfig, fingerprint
from memsif_ray.runtime.progress import Board, announce, shown
from memsif_ray.runtime.session import ray_session
from memsif_ray.runtime.spec import ToolSpec

LOGGER = logging.getLogger(__name__)

_EMBEDDED_DEADLINE_S = 3600.0
"""A CPU reads a history of 30,000 tokens in minutes, and others wait behind it."""


@contextmanager
def workplace(
    config: RunConfig, totals: Mapping[str, int], *, progress: bool, chat: bool = True
) -> Iterator[ToolSpec]:
    """Ray and every model that the configuration names, for the block.

    Args:
        config: Of the work.
        totals: What progress counts up to, by step.
        progress: Show it on stderr.
        chat: False starts no chat model, for work that only embeds.

    Raises:
        ConfigError: When Ray or a model cannot be reached or started.
    """
    tell = announce if progress else LOGGER.info
    models = _served(config, tell) if chat else nullcontext(config)
    with ray_session(config.execution, env=_keys(config)), models as served:
        name = f"board-{uuid.uuid4().hex}"
        board: Any = ray.remote(Board).options(num_cpus=0, name=name).remote()
        with shown(lambda: dict(ray.get(board.counts.remote())), totals, enabled=progress):
            yield ToolSpec(served, name, embedding_cache(config))


def embedding_cache(config: RunConfig) -> Path:
    """One cache per embedder as it was configured: two endpoints may serve two models under one name."""
    name = fingerprint(config.embedder.model_dump(mode="json"))
    return Path(platformdirs.user_cache_dir("memsif-ray")) / "embeddings" / name


@contextmanager
def _served(config: RunConfig, tell: Callable[[str], None]) -> Iterator[RunConfig]:
    """The configuration with every endpoint's address in it; starts the embedded engine if it is needed."""
    if config.model.base_url is not None:
        yield config
        return
    from memsif_ray.runtime.model_server import start_model_server  # an optional extra, slow to import

    with start_model_server(config.model, config.embedder, progress=tell) as endpoint:
        patient = max(config.model.deadline_s, _EMBEDDED_DEADLINE_S)
        model = config.model.model_copy(update={"base_url": endpoint.base_url, "deadline_s": patient})
        embedder = config.embedder
        if embedder.base_url is None:
            embedder = embedder.model_copy(update={"base_url": endpoint.base_url})
        yield config.model_copy(update={"model": model, "embedder": embedder})


def _keys(config: RunConfig) -> dict[str, str]:
    """The API keys that the configuration names and this process has."""
    named = {config.model.api_key_env, config.embedder.api_key_env}
    if config.judge:
        named.add(config.judge.api_key_env)
    return {name: os.environ[name] for name in named if name in os.environ}
