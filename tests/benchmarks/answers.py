"""Answer quality of the embedded model on one LoCoMo conversation, by what it is given to read.

    python tests/benchmarks/answers.py LOCOMO.json [CONVERSATION] [--limit N]

Every row has the same prompt, budget and line format; only the choice of messages differs. `gold` shows the
evidence alone: what the model could do with perfect retrieval. Token-F1 without stemming, greedy decoding.
"""

import argparse
import asyncio
from pathlib import Path
from statistics import fmean, stdev

from platformdirs import user_cache_path

from memsif_ray import datasets
from memsif_ray.clients.embedded.chat import EmbeddedChat, EmbeddedCounter
from memsif_ray.clients.embedded.engine import EmbeddedEngine
from memsif_ray.clients.embedded.weights import find_model
from memsif_ray.clients.embedders import make_embedder
from memsif_ray.clients.entities import make_entities
from memsif_ray.config import DataConfig, EmbedderConfig, MemoryConfig
from memsif_ray.evaluation.metrics import evidence_recall, token_f1
from memsif_ray.memory.budget import fit
from memsif_ray.memory.encoding import Encoder
from memsif_ray.memory.engine import ConversationMemory
from memsif_ray.memory.matching import Phi
from memsif_ray.memory.presets import resolve_thresholds
from memsif_ray.memory.reading import message_item
from memsif_ray.memory.structure import structure_by_rule
from memsif_ray.memory.tools import NO_MODEL, Tools
from memsif_ray.methods.answering import answer_from
from memsif_ray.methods.lines import chronological
from memsif_ray.runtime.rankings import Rankings
from memsif_ray.types import Context

MODEL = "qwen2.5-coder-0.5b"
SHOWN = ("dense messages", "hybrid messages (RRF)", "structural")


def contexts_by_ranking(conversation, rankings, question, vector, gold, tokens, budget):
    """Name → the messages of each ranking that fit, in time order."""
    messages = {m.message_id: m for m in conversation.messages}
    ranked = {
        n: [unit[0] for unit in rank(question.text, vector)]
        for n, rank in rankings.by_name().items()
        if n in SHOWN
    }
    ranked["gold"] = list(gold.evidence)
    for name, ids in ranked.items():
        items = [message_item(messages[i]) for i in ids]
        kept = fit(items, lambda item: f"{item.text}\n", tokens=tokens, budget=budget)
        yield name, Context(chronological(kept))


async def main(path: Path, conversation_id: str, limit: int | None) -> None:
    """Build once, then answer every question from every kind of context."""
    chosen = DataConfig(
        dataset="locomo", path=path, conversations=(conversation_id,), adversarial=False, limit=limit
    )
    dataset = datasets.load(chosen)
    (conversation,) = dataset.conversations
    engine = EmbeddedEngine(find_model(MODEL), model=MODEL)
    await engine.start()
    embedder = make_embedder(EmbedderConfig(), user_cache_path("memsif-ray") / "vectors")
    tools = Tools(EmbeddedChat(engine), embedder, make_entities("auto"), EmbeddedCounter(engine), NO_MODEL)
    config = MemoryConfig()
    memory = ConversationMemory("c", config=config, tools=tools, speakers=conversation.speakers)
    await memory.add(conversation.messages)
    await memory.flush()
    items = await Encoder(embedder, tools.entities, conversation.speakers).encode(conversation.messages)
    thresholds = resolve_thresholds(config, embedder.model_id)
    rankings = Rankings(items, await structure_by_rule(items, thresholds, phi=Phi()))
    jobs = []
    for question in dataset.questions:
        gold = dataset.gold[question.question_id]
        vector = (await embedder.embed([question.text]))[0]
        budget = config.retrieval.context_tokens
        found = dict(
            contexts_by_ranking(conversation, rankings, question, vector, gold, tools.tokens, budget)
        )
        found["memsif"] = await memory.context(question)
        jobs += [(name, question, gold, context) for name, context in found.items()]
    answers = await asyncio.gather(
        *(answer_from(c, q, tools=tools, max_tokens=64, temperature=0.0) for _, q, _, c in jobs)
    )
    await engine.aclose()
    print(f"{conversation_id}: {len(dataset.questions)} questions, {budget} tokens of context")
    for name in (*SHOWN, "memsif", "gold"):
        rows = [(g, c, a) for (n, _, g, c), a in zip(jobs, answers, strict=True) if n == name]
        f1 = [token_f1(a.text or "", g.answer, stem=False) for g, _, a in rows]
        recalls = [r for g, c, _ in rows if (r := evidence_recall(g.evidence, c.message_ids)) is not None]
        print(
            f"{name:24} F1 {fmean(f1):.3f} ± {stdev(f1) / len(f1) ** 0.5:.3f}   recall {fmean(recalls):.3f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path)
    parser.add_argument("conversation", nargs="?", default="conv-26")
    parser.add_argument("--limit", type=int)
    given = parser.parse_args()
    asyncio.run(main(given.path, given.conversation, given.limit))
