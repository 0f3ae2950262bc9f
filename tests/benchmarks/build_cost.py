"""LLM tokens that building memory takes per message when every decision is delegated, by stage.

    python tests/benchmarks/build_cost.py LOCOMO.json [CONVERSATION ...]

Replies are scripted (one fact per segment, boundaries by hash), prompts are the real ones, and tokens are
counted by the embedded model's tokenizer without running the model. So it says what the prompts cost, not
how a model decides.
"""

import argparse
import asyncio
from collections import Counter
from pathlib import Path

from platformdirs import user_cache_path

from memsif_ray import datasets
from memsif_ray.clients.embedded.engine import EmbeddedEngine
from memsif_ray.clients.embedded.weights import find_model
from memsif_ray.clients.embedders import make_embedder
from memsif_ray.clients.entities import make_entities
from memsif_ray.clients.scripted import ScriptedChat, reasonable
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.config import DataConfig, EmbedderConfig, MemoryConfig
from memsif_ray.memory.engine import ConversationMemory
from memsif_ray.memory.tools import CAPABLE, Tools

MODEL = "qwen2.5-coder-0.5b"


async def main(path: Path, conversations: tuple[str, ...]) -> None:
    """Build each conversation and count."""
    dataset = datasets.load(DataConfig(dataset="locomo", path=path, conversations=conversations))
    counter = EmbeddedEngine(find_model(MODEL), model=MODEL)  # for its tokenizer; never started
    embedder = make_embedder(EmbedderConfig(), user_cache_path("memsif-ray") / "vectors")
    tokens: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    for conversation in dataset.conversations:
        chat = ScriptedChat(reasonable)
        tools = Tools(chat, embedder, make_entities("auto"), EstimatingCounter(), CAPABLE)
        memory = ConversationMemory("c", config=MemoryConfig(), tools=tools, speakers=conversation.speakers)
        await memory.add(conversation.messages)
        await memory.flush()
        for request in chat.requests:
            texts = (request.system, request.user, reasonable(request))
            tokens[request.stage] += sum(counter.count_tokens(text) for text in texts)
            calls[request.stage] += 1
    messages = sum(len(c.messages) for c in dataset.conversations)
    print(f"{messages} messages of {len(dataset.conversations)} conversations")
    for stage, spent in tokens.most_common():
        print(
            f"{stage:12} {spent / messages:6.0f} tokens/message   {calls[stage] / messages:.2f} calls/message"
        )
    print(f"{'all':12} {sum(tokens.values()) / messages:6.0f} tokens/message")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path)
    parser.add_argument("conversations", nargs="*")
    given = parser.parse_args()
    asyncio.run(main(given.path, tuple(given.conversations)))
