"""Long-term memory for LLM agents: MemSIF and OAS, on Ray. Unofficial; see README.md for deviations."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memsif_ray.api.client import AsyncClient, Client
    from memsif_ray.library import Memory

__all__ = ["AsyncClient", "Client", "Memory", "__version__"]
__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Load the library only when it is used, so that `import memsif_ray` stays light."""
    if name == "Memory":
        from memsif_ray import library

        return library.Memory
    if name in ("Client", "AsyncClient"):
        from memsif_ray.api import client

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
