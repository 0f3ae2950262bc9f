"""Qwen3 on vLLM, behind an OpenAI-compatible endpoint, through Ray's own LLM serving.

```text
serve run serve.llm:app model=qwen3-4b accelerator=L4        needs a GPU and: pip install 'memsif-ray[vllm]'
serve run serve.llm:app model=qwen3-4b device=cpu source=FOLDER context_length=8192
                                                             to try it out; needs a CPU build of vLLM
```

Requests may carry a JSON schema as `response_format`; vLLM holds replies to it. Prompts about one
conversation begin alike, so the attention cache of a common beginning is kept (`enable_prefix_caching`).
"""

# No `from __future__ import annotations`: Serve reads the builder's annotation to check its arguments.

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, Json
from ray.serve import Application

from memsif_ray.config import Strict
from memsif_ray.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Preset:
    """What a model needs.

    Attributes:
        source: Name at the model hub.
        gpus: Over how many the weights are split (tensor parallelism), for GPUs of 24 GB and more; the 32B
            model wants four of 24 GB, or one of 80 GB with `tensor_parallel=1`.
    """

    source: str
    gpus: int


PRESETS = {
    "qwen3-4b": Preset("Qwen/Qwen3-4B", 1),
    "qwen3-8b": Preset("Qwen/Qwen3-8B", 1),
    "qwen3-32b": Preset("Qwen/Qwen3-32B", 4),
}


class LlmArgs(Strict):
    """What the application is built from; in YAML the `args` of the application."""

    model: Literal["qwen3-4b", "qwen3-8b", "qwen3-32b"] = Field(
        "qwen3-8b", description="Preset; also the served name"
    )
    source: str | None = Field(None, description="Folder or hub name of the weights, e.g. an AWQ version")
    device: Literal["cuda", "cpu"] = "cuda"
    accelerator: str | None = Field(None, description="Kind of GPU as Ray names it, e.g. L4, A100, H100")
    tensor_parallel: int | None = Field(
        None, ge=1, description="GPUs per replica; None is the preset's, and 1 on a CPU"
    )
    context_length: int = Field(32_768, ge=2_048, description="Most tokens of prompt and reply")
    thinking: bool = Field(
        False, description="The papers use Qwen3 without thinking; wanted on by clients that ask for thoughts"
    )
    min_replicas: int = Field(1, ge=0)
    max_replicas: int = Field(2, ge=1)
    ongoing_per_replica: int = Field(32, ge=1, description="Requests per replica that autoscaling aims at")
    engine: Json[dict[str, Any]] | dict[str, Any] = Field(
        default_factory=dict,
        description="More arguments of vLLM's engine; JSON on the command line; they win",
    )


def llm_config(args: LlmArgs) -> dict[str, Any]:
    """Ray's `LLMConfig`, as plain data: its class cannot be imported without an engine."""
    return {
        "model_loading_config": {
            "model_id": args.model,
            "model_source": args.source or PRESETS[args.model].source,
        },
        "accelerator_type": args.accelerator,
        "accelerator_config": {"kind": "cpu" if args.device == "cpu" else "gpu"},
        "engine_kwargs": _engine(args) | args.engine,
        "deployment_config": {
            "autoscaling_config": {
                "min_replicas": args.min_replicas,
                "max_replicas": max(args.min_replicas, args.max_replicas),
                "target_ongoing_requests": args.ongoing_per_replica,
            },
            "max_ongoing_requests": 4 * args.ongoing_per_replica,
            # On a CPU the engine's worker claims one already, and two cores must do for it and the ingress.
            "ray_actor_options": {"num_cpus": 0 if args.device == "cpu" else 1},
        },
    }


def _engine(args: LlmArgs) -> dict[str, Any]:
    on_cpu = args.device == "cpu"
    engine = {
        "tensor_parallel_size": args.tensor_parallel or (1 if on_cpu else PRESETS[args.model].gpus),
        "max_model_len": args.context_length,
        "enable_prefix_caching": True,
        # Otherwise a schema allows blanks between words without end, and weak models write them.
        "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True},
        # For clients that do not say; ours does with every request.
        "default_chat_template_kwargs": {"enable_thinking": args.thinking},
    }
    if args.thinking:
        engine["reasoning_parser"] = "qwen3"  # a schema holds for what comes after the thoughts
    if on_cpu:
        engine["enforce_eager"] = True  # compiling takes longer than it saves
    return engine


def app(args: LlmArgs) -> Application:
    """The application: `/v1/chat/completions`, `/v1/completions`, `/v1/models`.

    Raises:
        ConfigError: When vLLM is not installed.
    """
    try:
        from ray.serve.llm import build_openai_app
    except ImportError as exc:
        raise ConfigError(
            "vLLM is not installed: pip install 'memsif-ray[vllm]', on a machine with a GPU"
        ) from exc
    application: Application = build_openai_app({"llm_configs": [llm_config(args)]})
    return application
