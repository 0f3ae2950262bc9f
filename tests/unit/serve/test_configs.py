"""Configurations by the installed Ray's own schemas, and every application built from them."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError
from ray.autoscaler._private.util import prepare_config, validate_config
from ray.serve import Application
from ray.serve.schema import ServeDeploySchema

from memsif_ray.errors import ConfigError
from memsif_ray.runtime.memory_shards import ShardsConfig
from serve.embedder import EmbedderArgs
from serve.laptop import LaptopArgs
from serve.llm import PRESETS, LlmArgs, llm_config
from serve.memory_api import MemoryArgs

ROOT = Path(__file__).parents[3]
ARGS = {
    "serve.llm:app": LlmArgs,
    "serve.embedder:app": EmbedderArgs,
    "serve.memory_api:app": MemoryArgs,
    "serve.laptop:app": LaptopArgs,
}


def read(name: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / name).read_text())


def applications(name: str):
    return ServeDeploySchema.model_validate(read(name)).applications


def built(import_path: str, args: dict[str, Any]) -> Application:
    module, function = import_path.split(":")
    return getattr(import_module(module), function)(ARGS[import_path].model_validate(args))


@pytest.mark.parametrize("name", ["serve/config.yaml", "serve/laptop.yaml"])
def test_serve_accepts_a_configuration_and_holds_no_unknown_key(name):
    plain = read(name)
    assert plain.keys() <= ServeDeploySchema.model_fields.keys()  # extra ones would pass in silence
    assert [app.name for app in applications(name)]


def test_the_applications_that_need_no_gpu_are_built():
    apps = [*applications("serve/laptop.yaml"), *applications("serve/config.yaml")]
    names = {app.import_path for app in apps if app.import_path != "serve.llm:app"}
    assert names == {"serve.laptop:app", "serve.embedder:app", "serve.memory_api:app"}
    for app in apps:
        if app.import_path in names:
            assert isinstance(built(app.import_path, app.args), Application)


def test_the_llm_of_the_cluster_is_a_preset_that_memory_asks_for():
    apps = {app.name: app for app in applications("serve/config.yaml")}
    args = LlmArgs.model_validate(apps["llm"].args)
    memory = MemoryArgs.model_validate(apps["memory"].args)
    assert memory.memory.model.model == args.model
    assert memory.memory.model.base_url.endswith(f"{apps['llm'].route_prefix}/v1")
    assert memory.memory.embedder.model == apps["embedder"].args["model"]
    assert memory.memory.embedder.base_url.endswith(f"{apps['embedder'].route_prefix}/v1")
    assert memory.keys


@pytest.mark.parametrize("model", PRESETS)
def test_presets_fit_rays_own_class(model):
    pytest.importorskip("transformers")
    from ray.llm._internal.serve.core.configs.llm_config import LLMConfig  # without an engine, only this way

    plain = llm_config(LlmArgs(model=model, accelerator="L4"))
    config = LLMConfig.model_validate(plain)
    assert config.engine_kwargs["tensor_parallel_size"] == PRESETS[model].gpus
    assert config.engine_kwargs["enable_prefix_caching"] is True
    assert config.engine_kwargs["default_chat_template_kwargs"] == {"enable_thinking": False}


def test_without_vllm_the_llm_says_what_to_install():
    try:
        import vllm  # noqa: F401
    except ImportError:
        with pytest.raises(ConfigError, match="pip install"):
            built("serve.llm:app", {})
    else:
        pytest.skip("vLLM is installed")


def test_a_misspelt_argument_is_refused():
    with pytest.raises(ValidationError):
        MemoryArgs.model_validate({"memory": {"shard": 3}})


def test_memory_needs_an_endpoint_and_a_store_that_all_processes_see():
    with pytest.raises(ConfigError, match="base_url"):
        built("serve.memory_api:app", {})
    for url in ("sqlite://", "sqlite:///:memory:"):
        with pytest.raises(ConfigError, match="one process"):
            ShardsConfig(store=url).store_url()


def test_shards_read_the_store_of_their_environment(monkeypatch):
    monkeypatch.delenv("MEMSIF_STORE", raising=False)
    with pytest.raises(ConfigError, match="MEMSIF_STORE"):
        ShardsConfig().store_url()
    monkeypatch.setenv("MEMSIF_STORE", "postgresql://host/memsif")
    assert ShardsConfig().store_url() == "postgresql://host/memsif"


def test_the_cluster_launcher_accepts_the_cluster_and_it_has_what_serve_claims():
    config = prepare_config(read("cluster.yaml"))
    validate_config(config)
    head = config["available_node_types"][config["head_node_type"]]
    memory = next(app for app in applications("serve/config.yaml") if app.name == "memory")
    assert MemoryArgs.model_validate(memory.args).memory.placement.keys() <= head["resources"].keys()
    assert {"gpu_worker", "cpu_worker"} < config["available_node_types"].keys()
