"""Where models are. Secrets never appear here: a model names the environment variable of its key."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from memsif_ray.config.strict import Strict


class ModelConfig(Strict):
    """A chat model: the embedded one, or any OpenAI-compatible endpoint."""

    base_url: str | None = Field(
        None, description="e.g. http://host:8000/v1; None starts the embedded engine"
    )
    model: str = Field(
        "qwen2.5-coder-0.5b",
        description="Served name; embedded: qwen2.5-coder-0.5b, smollm2-135m, a .gguf, a folder or a hub id",
    )
    api_key_env: str = Field("OPENAI_API_KEY", description="Environment variable that holds the key")
    structured_output: Literal["auto", "json_schema", "prompt"] = "auto"
    thinking: bool = Field(False, description="Qwen3 runs in non-thinking mode, as in the paper")
    deadline_s: float = Field(300.0, gt=0, description="Overall limit of one call, retries included")
    max_in_flight: int = Field(16, ge=1, description="Concurrent calls per process")
    context_window: int = Field(32768, ge=512)


class EmbedderConfig(Strict):
    """A sentence embedder: sentence-transformers in process, or an OpenAI-compatible endpoint."""

    base_url: str | None = None
    model: str = Field("all-MiniLM-L6-v2", description="Bundled name, local path or hub id; or served name")
    api_key_env: str = "OPENAI_API_KEY"
