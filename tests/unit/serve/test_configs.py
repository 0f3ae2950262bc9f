"""Configurations by the installed Ray's own schemas, and every application built from them."""

import os
import subprocess
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError
from ray.autoscaler._private.node_provider_availability_tracker import NodeAvailabilitySummary
from ray.autoscaler._private.resource_demand_scheduler import _default_utilization_scorer, get_nodes_for
from ray.autoscaler._private.util import prepare_config, validate_config
from ray.autoscaler.v2.instance_manager.config import AutoscalingConfig
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


def test_without_a_gpu_the_llm_fits_a_machine_of_two_cores():
    pytest.importorskip("transformers")
    from ray.llm._internal.serve.core.configs.llm_config import LLMConfig

    config = LLMConfig.model_validate(llm_config(LlmArgs(model="qwen3-32b", device="cpu")))
    assert config.accelerator_config.kind == "cpu"
    assert config.engine_kwargs["tensor_parallel_size"] == 1
    assert config.engine_kwargs["enforce_eager"] is True
    # Worker and ingress claim a CPU each.
    assert config.deployment_config["ray_actor_options"]["num_cpus"] == 0
    with pytest.raises(ValidationError, match="CPU-only"):
        LLMConfig.model_validate(llm_config(LlmArgs(device="cpu", accelerator="L4")))


def test_arguments_of_the_engine_win_and_are_json_on_the_command_line():
    written = LlmArgs.model_validate({"engine": '{"max_model_len": 512, "quantization": "awq"}'})
    assert written == LlmArgs(engine={"max_model_len": 512, "quantization": "awq"})
    engine = llm_config(written)["engine_kwargs"]
    assert (engine["max_model_len"], engine["quantization"]) == (512, "awq")
    assert engine["enable_prefix_caching"] is True
    with pytest.raises(ValidationError):
        LlmArgs.model_validate({"engine": "quantization=awq"})


def test_replies_are_held_to_a_schema_without_blanks_and_after_any_thoughts():
    plain = llm_config(LlmArgs())["engine_kwargs"]
    assert plain["structured_outputs_config"] == {"backend": "xgrammar", "disable_any_whitespace": True}
    assert "reasoning_parser" not in plain
    assert llm_config(LlmArgs(thinking=True))["engine_kwargs"]["reasoning_parser"] == "qwen3"


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


@pytest.fixture
def cluster():
    config = prepare_config(read("cluster.yaml"))
    validate_config(config)
    return config


def test_the_cluster_has_what_serve_claims(cluster):
    head = cluster["available_node_types"][cluster["head_node_type"]]
    apps = {app.name: app for app in applications("serve/config.yaml")}
    placement = MemoryArgs.model_validate(apps["memory"].args).memory.placement
    assert placement.keys() <= head["resources"].keys()
    llm = LlmArgs.model_validate(apps["llm"].args)
    gpu = cluster["available_node_types"]["gpu_worker"]["resources"]
    assert llm.tensor_parallel == gpu["GPU"] and f"accelerator_type:{llm.accelerator}" in gpu


def run_as_the_launcher_does(command, home):
    """In a login shell that reads .bashrc, as Ray's command runner has it."""
    program = f"export HOME={home}; source ~/.bashrc; export PATH={home}/bin:$PATH && ({command})"
    subprocess.run(["bash", "-c", program], check=True, env={"PATH": os.environ["PATH"]})


def test_the_store_that_is_named_before_ray_up_is_in_the_environment_of_rays_processes(cluster, tmp_path):
    url = "postgresql://user:a word@host/memsif"
    (tmp_path / "memsif.env").write_text(f"MEMSIF_STORE='{url}'\n")
    assert cluster["file_mounts"]["~/memsif.env"] == "~/memsif.env"
    for folder in ("bin", "venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("venv/bin/activate", ".bashrc"):
        (tmp_path / name).touch()
    stub = tmp_path / "bin" / "ray"  # in place of Ray: says what it would hand down
    stub.write_text('#!/bin/sh\necho "$1 $MEMSIF_STORE" >> ~/started\n')
    stub.chmod(0o700)
    for command in cluster["head_setup_commands"] * 2:  # as at every `ray up`
        if "pip install" not in command:
            run_as_the_launcher_does(command, tmp_path)
    for command in cluster["head_start_ray_commands"]:
        run_as_the_launcher_does(command, tmp_path)
    assert (tmp_path / "started").read_text().splitlines()[-1] == f"start {url}"
    assert (tmp_path / ".bashrc").read_text().count("memsif.env") == 1


def test_each_machine_installs_what_runs_on_it(cluster):
    launcher = AutoscalingConfig(cluster, skip_content_hash=True)
    installs = {
        "head": " ".join(launcher.get_head_setup_commands()),
        "cpu": " ".join(launcher.get_worker_setup_commands("cpu_worker")),
        "gpu": " ".join(launcher.get_worker_setup_commands("gpu_worker")),
    }
    assert all(".[embedded]" in commands and "activate" in commands for commands in installs.values())
    assert [name for name, commands in installs.items() if ".[postgres]" in commands] == ["head"]
    assert [name for name, commands in installs.items() if ".[vllm]" in commands] == ["gpu"]


@pytest.mark.parametrize(
    ("asked", "started"),
    [
        ([{"CPU": 1}] * 12, {"cpu_worker": 2}),  # jobs alone: a cluster without GPUs
        ([{"GPU": 1, "CPU": 1, "accelerator_type:L4": 0.001}], {"gpu_worker": 1}),
        ([{"GPU": 1, "CPU": 1}] * 2, {"gpu_worker": 2}),
    ],
)
def test_the_autoscaler_starts_machines_with_gpus_only_for_those_who_ask(cluster, asked, started):
    summary = NodeAvailabilitySummary(node_availabilities={})
    scorer = partial(_default_utilization_scorer, node_availability_summary=summary)
    found, unmet = get_nodes_for(
        cluster["available_node_types"], {"head": 1}, "head", cluster["max_workers"], asked, scorer
    )
    assert found == started and not unmet
    assert all(kind["min_workers"] == 0 for kind in cluster["available_node_types"].values())


def test_the_laptops_service_stays_on_one_machine_of_a_cluster():
    actors = [node.ray_actor_options for node in deployments(built("serve.laptop:app", {}))]
    assert len(actors) == 3  # models, keeper of the shards, API
    assert all(options["resources"] == {"node:__internal_head__": 0.001} for options in actors)


def deployments(application):
    """All of an application, through the arguments that they are bound with."""
    bound = application._bound_deployment
    inner = [one for one in bound.init_args if isinstance(one, Application)]
    return [bound, *(found for one in inner for found in deployments(one))]
