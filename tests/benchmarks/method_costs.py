"""Tokens that every method takes per question, beside the paper's Table 18: is each as dear as the original?

```text
python -m tests.benchmarks.method_costs --data locomo10.json --conversation conv-30 --questions 10
```

The methods and their prompts are the real ones, every decision is delegated to the model, and the model's
replies are well formed and of usual length (`realistic_replies`). Building memory is shared by all questions
about the conversation, as in the paper; tokens are those of cl100k. Methods get the paper's window of 32K for
their context, MemSIF its own 1,024 tokens. The paper gives the sum alone, not what building and asking take.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import tempfile
from pathlib import Path

from scipy.stats import spearmanr

from memsif_ray import datasets
from memsif_ray.clients.cl100k import Cl100kCounter
from memsif_ray.clients.embedders import make_embedder
from memsif_ray.clients.entities import make_entities
from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.config import DataConfig, EmbedderConfig, RunConfig
from memsif_ray.methods import make_method
from memsif_ray.methods.answering import answer_from
from memsif_ray.methods.base import Tools
from memsif_ray.ports import Embedder
from memsif_ray.types import ChatReply, ChatRequest, Conversation, Question
from tests.benchmarks.realistic_replies import realistic

PAPER = {
    "full-context": (11523, 11525),
    "naive-rag": (3532, 3533),
    "mem0": (7056, 6780),
    "memoryos": (2291, 4822),
    "memgas": (1697, 1650),
    "lightmem:nocompress": (1661, 1581),
    "gam": (4064, 4055),
    "com": (2084, 2078),
    "xmemory": (6897, 6271),
    "simplemem": (2310, 2293),
    "memsif": (3052, 2410),
}
"""Table 18: tokens per question with Qwen3-4B and Qwen3-32B."""
WINDOW = {"memory": {"retrieval": {"context_tokens": 32_000}}}

TOKENS = Cl100kCounter()


class Spent:
    """A chat model that adds up what it is asked and says."""

    def __init__(self) -> None:
        """Nothing asked yet."""
        self.tokens = self.again = 0
        self._chat = ScriptedChat(realistic, logprob=lambda request: -len(request.user) % 97 / 97)

    async def complete(self, request: ChatRequest) -> ChatReply:
        """A reply by the script."""
        reply = await self._chat.complete(request)
        self.tokens += sum(map(TOKENS.count, (request.system, request.user, reply.content or "")))
        self.again += request.attempt > 0
        return reply


async def cost(
    name: str, conversation: Conversation, questions: list[Question], embedder: Embedder
) -> tuple[int, float, int]:
    """Tokens of building and, on average, of a question; and how many replies were unusable."""
    config = RunConfig.model_validate({} if name == "memsif" else WINDOW)
    chat = Spent()
    tools = Tools(chat, embedder, make_entities("auto"), TOKENS)
    method = make_method(name, config, tools)
    await method.ingest(conversation)
    built = chat.tokens
    for question in questions:
        context = await method.context(question)
        await answer_from(
            context,
            question,
            tools=tools,
            max_tokens=config.answer_max_tokens,
            temperature=config.answer_temperature,
        )
        await method.learn(question, context)
    return built, (chat.tokens - built) / len(questions), chat.again


def embedder_of(name: str, vectors: Path) -> Embedder:
    """Vectors are made once for all methods; the embedder `hash` needs no model, and little time."""
    return HashEmbedder(256) if name == "hash" else make_embedder(EmbedderConfig(model=name), vectors)


async def main(data: Path, name: str, limit: int, methods: list[str], embedder_name: str) -> None:
    """Run every method on the conversation, one after the other."""
    chosen = DataConfig(dataset="locomo", path=data, conversations=(name,), adversarial=False)
    dataset = datasets.load(chosen)
    (conversation,), shared = dataset.conversations, len(dataset.questions)
    asked = list(dataset.questions[:: max(1, shared // limit)][:limit])
    print(f"{name}: {len(conversation.messages)} messages; {len(asked)} of {shared} questions asked\n")
    columns = ("building", "asking", "sum", "paper 4B", "paper 32B", "again")
    print(f"{'tokens per question':22}{''.join(f'{column:>11}' for column in columns)}")
    sums = []
    with tempfile.TemporaryDirectory() as vectors:
        embedder = embedder_of(embedder_name, Path(vectors))
        for method in methods:
            built, query, again = await cost(method, conversation, asked, embedder)
            sums.append(built / shared + query)
            cells = [built / shared, query, sums[-1], *PAPER[method], again]
            print(f"{method:22}{''.join(f'{cell:>11,.0f}' for cell in cells)}", flush=True)
    for column, model in enumerate(("Qwen3-4B", "Qwen3-32B")):
        rho = spearmanr(sums, [PAPER[method][column] for method in methods]).statistic
        print(f"Spearman's rank correlation with {model}: {rho:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--conversation", default="conv-30")
    parser.add_argument("--questions", type=int, default=10)
    parser.add_argument("--methods", nargs="*", default=list(PAPER))
    parser.add_argument("--embedder", default=EmbedderConfig().model, help="Its name, or `hash`")
    given = parser.parse_args()
    logging.basicConfig(level=logging.ERROR)
    asyncio.run(main(given.data, given.conversation, given.questions, given.methods, given.embedder))
