"""Everything on one machine: the embedded models, the shards and the API in one application.

```text
serve run serve.laptop:app                      memory in the user's data folder, no keys, this machine only
serve run serve.laptop:app data=./memory model=smollm2-135m
serve run serve/laptop.yaml                     the same, from a file
memsif serve                                    the same, and it prepares the model and tells what it does
```
"""

# No `from __future__ import annotations`: Serve reads the builder's annotation to check its arguments.

from pathlib import Path
from typing import Literal

from pydantic import Field
from ray.serve import Application

from memsif_ray.api.settings import ApiSettings
from memsif_ray.config import EmbedderConfig, ModelConfig, Strict
from memsif_ray.runtime.memory_shards import ShardsConfig
from memsif_ray.service.settings import ServiceConfig
from memsif_ray.storage.sql.location import store_url
from serve.listening import Address, free_port
from serve.local_models import HOST, local_models
from serve.memory_api import KEEPER, MemoryArgs, memory_application

_ONE_MACHINE = {"node:__internal_head__": 0.001}
"""Ray's own mark of the head. The models listen to their machine only, so all must be on the same."""
_DEADLINE_S = 3600.0
"""Of one call to the embedded model: a CPU reads long prompts in minutes, and others wait behind them."""


class LaptopArgs(Strict):
    """Flat, so that `serve run serve.laptop:app key=value` can give each."""

    data: Path | None = Field(None, description="Folder of memory.db; None is the user's data folder")
    store: str | None = Field(None, description="Database URL instead, e.g. postgresql://user@host/name")
    model: str = Field("qwen2.5-coder-0.5b", description="Embedded model; with base_url the served name")
    base_url: str | None = Field(None, description="Chat endpoint instead of the embedded model")
    embedder: str = "all-MiniLM-L6-v2"
    embedder_url: str | None = Field(None, description="Embedding endpoint instead of the local embedder")
    entities: Literal["auto", "spacy", "rules"] = "auto"
    keys: bool = Field(False, description="True serves other machines too, to those who have a key")
    shards: int = Field(2, ge=1)
    per_minute: int = Field(
        ApiSettings().per_minute, ge=1, description="Requests that a tenant may make in a minute"
    )
    listen: Address | None = Field(
        None, description="Address of the API; without one it is that of Ray Serve's proxy"
    )
    service: ServiceConfig = ServiceConfig()

    @property
    def store_url(self) -> str:
        """Of the database."""
        return store_url(self.store, self.data)


def app(args: LaptopArgs) -> Application:
    """The application."""
    port = free_port(HOST)
    here = f"http://{HOST}:{port}/v1"
    model = ModelConfig(model=args.model, base_url=args.base_url or here)
    if args.base_url is None:
        model = model.model_copy(update={"deadline_s": _DEADLINE_S})
    embedder = EmbedderConfig(model=args.embedder, base_url=args.embedder_url or here)
    shards = ShardsConfig(
        store=args.store_url,
        model=model,
        embedder=embedder,
        entities=args.entities,
        service=args.service,
        shards=args.shards,
        placement=_ONE_MACHINE,
    )
    ours = (
        None if args.base_url else model.model_copy(update={"base_url": None}),
        None if args.embedder_url else embedder.model_copy(update={"base_url": None}),
    )
    before = [local_models(port, *ours, placement=_ONE_MACHINE, needed_by=KEEPER)] if any(ours) else []
    api = ApiSettings(per_minute=args.per_minute)
    return memory_application(MemoryArgs(memory=shards, api=api, keys=args.keys, listen=args.listen), *before)
