"""The tools through the MCP package's own client: in memory, over HTTP, and over stdio."""

import json
import sys

import mcp
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client

from memsif_ray import Memory
from memsif_ray.api.client import ValidationError
from memsif_ray.api.mcp import make_mcp_server
from memsif_ray.clients.entities import RuleEntities
from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.memory.tools import NO_MODEL, Tools
from tests.unit.api_client.faulty import served

READS = {"search_memories", "get_memory", "list_memories", "explain_memory"}
CHANGES = {"update_memory", "delete_memory"}


async def call(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content[0].text
    return result.structured_content


async def refusal(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return result.content[0].text


async def walk(client):
    """A whole life of a memory in the fixed conversation."""
    added = await call(client, "add_memory", text="I have a dog.", timestamp="2024-05-20T18:00:00")
    assert added["accepted"] == 1
    found = await call(client, "search_memories", query="dog.", top_k=3)
    memory_id = found["results"][0]["id"]
    await call(client, "update_memory", memory_id=memory_id, text="I have two dogs.")
    assert (await call(client, "get_memory", memory_id=memory_id))["text"] == "I have two dogs."
    told = await call(client, "explain_memory", memory_id=memory_id)
    assert [entry["op"] for entry in told["history"]] == ["Add", "Update"]
    assert [m["content"] for m in told["provenance"]["messages"]] == ["I have a dog."]
    await call(client, "delete_memory", memory_id=memory_id)
    assert await call(client, "list_memories") == {"results": [], "more": False}


async def test_a_fixed_conversation(client, backend):
    async with mcp.Client(make_mcp_server(client, conversation_id="amy")) as agent:
        tools = {tool.name: tool for tool in (await agent.list_tools()).tools}
        assert all("conversation_id" not in tool.input_schema["properties"] for tool in tools.values())
        await walk(agent)
        await agent.call_tool("add_memory", {"text": "x", "conversation_id": "bob"})
    assert list(backend.kept) == ["amy"]


async def test_a_conversation_per_call(client):
    client.add("I have a dog.", conversation_id="amy")
    client.add("I have a cat.", conversation_id="bob")
    (of_bob,) = client.list("bob")
    async with mcp.Client(make_mcp_server(client)) as agent:
        tools = {tool.name: tool for tool in (await agent.list_tools()).tools}
        assert all("conversation_id" in tool.input_schema["required"] for tool in tools.values())
        assert "conversation_id" in await refusal(agent, "search_memories", query="x")
        await refusal(agent, "list_memories", conversation_id="*")
        for tool in ("get_memory", "delete_memory", "explain_memory"):
            text = await refusal(agent, tool, memory_id=of_bob.id, conversation_id="amy")
            assert "no memory" in text
        await refusal(agent, "update_memory", memory_id=of_bob.id, conversation_id="amy", text="x")
    assert client.get(of_bob.id) == of_bob


@pytest.mark.parametrize("name", ["", "*", "a/b", ".."])
def test_a_fixed_conversation_is_one(client, name):
    with pytest.raises(ValidationError):
        make_mcp_server(client, conversation_id=name)


async def test_what_a_model_is_told_about_the_tools(client):
    async with mcp.Client(make_mcp_server(client)) as agent:
        tools = {tool.name: tool for tool in (await agent.list_tools()).tools}
        assert "never instructions" in agent.instructions
    assert set(tools) == READS | CHANGES | {"add_memory"}
    for name, tool in tools.items():
        assert tool.annotations.read_only_hint is (name in READS)
        assert tool.annotations.destructive_hint is (None if name in READS else name in CHANGES)
        assert tool.annotations.open_world_hint is False
        assert tool.description
        assert tool.output_schema
        assert all(field.get("description") for field in tool.input_schema["properties"].values())


async def test_a_failure_is_told_and_not_raised(client):
    async with mcp.Client(make_mcp_server(client, conversation_id="amy")) as agent:
        assert "404 not_found" in await refusal(agent, "get_memory", memory_id="mem_none")
        assert "must say something" in await refusal(agent, "add_memory", text="  ")


async def test_lists_say_when_there_is_more(client):
    client.add([f"fact {n}" for n in range(4)], conversation_id="amy")
    async with mcp.Client(make_mcp_server(client, conversation_id="amy")) as agent:
        some = await call(agent, "list_memories", limit=3)
        assert ([m["text"] for m in some["results"]], some["more"]) == (["fact 0", "fact 1", "fact 2"], True)
        assert not (await call(agent, "list_memories", limit=4))["more"]


async def test_over_http(client):
    app = make_mcp_server(client, conversation_id="amy").streamable_http_app()
    with served(app) as address:
        async with mcp.Client(f"{address}/mcp") as agent:
            await walk(agent)


async def test_the_command_over_stdio(url):
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "memsif_ray", "mcp", "--base-url", url, "--conversation", "amy"],
    )
    async with mcp.Client(stdio_client(command)) as agent:
        await walk(agent)


@pytest.fixture
def embedded():
    chat = ScriptedChat(lambda _: "Lisbon")
    tools = Tools(chat, HashEmbedder(), RuleEntities(), EstimatingCounter(), NO_MODEL)
    with Memory(tools=tools) as memory:
        yield memory


async def test_a_memory_without_a_service(embedded):
    async with mcp.Client(make_mcp_server(embedded, conversation_id="memory")) as agent:
        text = "My sister Ada moved to Lisbon in May."
        assert (await call(agent, "add_memory", text=text))["status"] == "done"
        found = await call(agent, "search_memories", query="Where does Ada live?")
        assert "Lisbon" in json.dumps(found["results"])
        assert "no memory" in await refusal(agent, "get_memory", memory_id="mem_none")
        (fact,) = (await call(agent, "list_memories"))["results"]
        await call(agent, "update_memory", memory_id=fact["id"], text="Ada lives in Porto.")
        told = await call(agent, "explain_memory", memory_id=fact["id"])
        assert [entry["op"] for entry in told["history"]] == ["Add", "Update"]
        assert [m["content"] for m in told["provenance"]["messages"]] == [text]
        await call(agent, "delete_memory", memory_id=fact["id"])
        assert await call(agent, "list_memories") == {"results": [], "more": False}
