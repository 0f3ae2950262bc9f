"""Names of the compared systems and of groups of them, as a person gives them."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping

from memsif_ray.errors import ConfigError

BASELINES = (
    *("full-context", "naive-rag", "mem0", "memoryos", "memgas"),
    *("lightmem:nocompress", "gam", "com", "xmemory", "simplemem"),
)
"""The ten systems that MemSIF is compared with (MemSIF 4.1).

LightMem is the variant that runs everywhere and says so: a group means the same on every machine, whatever
is installed there. `lightmem` itself needs the compressor, and is asked for by name.
"""

ABLATIONS = ("memsif:no-ts", "memsif:no-et", "memsif:no-cf", "memsif:no-af", "memsif:query-local")
"""MemSIF without one of its parts (MemSIF 4.3)."""

CONTROLS = ("bm25", "hybrid", "full-context:head", "full-context:whole", "oracle", "abstain")
"""What says how hard the questions are, and how much any memory could gain."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "all": ("memsif", *BASELINES, *ABLATIONS),
    "baselines": BASELINES,
    "ablations": ABLATIONS,
    "controls": CONTROLS,
}
"""What stands for several methods wherever methods are named."""


def expand(names: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """The methods that names of methods and groups stand for, each once, in the order given.

    Raises:
        ConfigError: When one is neither; names all such, and what they may have been meant to be.
    """
    chosen = tuple(dict.fromkeys(member for name in names for member in GROUPS.get(name, (name,))))
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise ConfigError("; ".join(_unknown(name, known) for name in unknown))
    return chosen


def _unknown(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name.casefold(), [*known, *GROUPS], n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "`memsif methods` lists them"
    return f"unknown method {name!r}; {hint}"
