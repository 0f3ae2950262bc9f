"""The compared systems, by name. A variant of a system is called `system:variant`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from memsif_ray.config import RunConfig
from memsif_ray.methods.abstain import Abstain
from memsif_ray.methods.base import MemoryMethod, Tables, Tools
from memsif_ray.methods.com import ChainOfMemory
from memsif_ray.methods.full_context import FullContext
from memsif_ray.methods.gam.method import Gam
from memsif_ray.methods.groups import GROUPS, expand
from memsif_ray.methods.lightmem.method import LightMem, with_compressor
from memsif_ray.methods.mem0.additive import Mem0Additive
from memsif_ray.methods.mem0.classic import Mem0
from memsif_ray.methods.mem0.official import Mem0Official
from memsif_ray.methods.memgas.method import MemGAS
from memsif_ray.methods.memoryos.method import MemoryOS
from memsif_ray.methods.memsif import ABLATIONS, MemSIF
from memsif_ray.methods.naive_rag import NaiveRag
from memsif_ray.methods.oracle import Oracle
from memsif_ray.methods.simplemem.method import SimpleMem
from memsif_ray.methods.xmemory.method import XMemory

__all__ = ["GROUPS", "METHODS", "MemoryMethod", "Tables", "Tools", "expand", "make_method"]

METHODS: dict[str, Callable[[RunConfig, Tools], MemoryMethod]] = {
    MemSIF.name: MemSIF,
    **{f"memsif:{ablation}": partial(MemSIF, ablation=ablation) for ablation in ABLATIONS},
    # The ten baselines, in the paper's order, each with its variants.
    FullContext.name: FullContext,
    "full-context:head": partial(FullContext, keep="head"),
    "full-context:whole": partial(FullContext, keep="whole"),
    NaiveRag.name: NaiveRag,
    "naive-rag:neighbours": partial(NaiveRag, neighbours=1),
    Mem0.name: Mem0,
    Mem0Additive.name: Mem0Additive,
    Mem0Official.name: Mem0Official,
    MemoryOS.name: MemoryOS,
    "memgas": MemGAS,
    "memgas:normalised": partial(MemGAS, routing="normalised"),
    "lightmem": with_compressor,
    "lightmem:nocompress": LightMem,
    Gam.name: Gam,
    ChainOfMemory.name: ChainOfMemory,
    XMemory.name: XMemory,
    SimpleMem.name: SimpleMem,
    # Further controls.
    "bm25": partial(NaiveRag, ranking="bm25"),
    "hybrid": partial(NaiveRag, ranking="hybrid"),
    Oracle.name: Oracle,
    Abstain.name: Abstain,
}


def make_method(name: str, config: RunConfig, tools: Tools) -> MemoryMethod:
    """A fresh method for one conversation.

    Raises:
        ConfigError: When there is no method of that name.
    """
    (known,) = expand((name,), METHODS)
    return METHODS[known](config, tools)
