"""Long-term memory for LLM agents: MemSIF and OAS, on Ray. Unofficial; see README.md for deviations."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memsif_ray.library import Memory, Reply

__all__ = ["Memory", "Reply", "__version__"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Load the library only when it is used, so that `import memsif_ray` stays light."""
    if name in ("Memory", "Reply"):
        from memsif_ray import library

        return getattr(library, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
