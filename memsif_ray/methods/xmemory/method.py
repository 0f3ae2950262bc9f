"""Compact re-implementation of xMemory: themes over facts over episodes, read as far as uncertainty falls.

Paper:
    Hu et al., Beyond RAG for Agent Memory: Retrieval by Decoupling and Aggregation, 2026 (arXiv
    2602.02007).
Official code:
    github.com/HU-xiaobai/xMemory, MIT; its published numbers come from an evaluation script apart from the
    library. The package `xmemory` on PyPI is something else.
Deviations:
    - Uncertainty is the mean negative log-probability of a greedy answer where the endpoint gives
      log-probabilities; else it is a proxy, the share of the content words of question and answer that the
      context does not say, under the same thresholds. A decision of kind `uncertainty` says for each
      question which of the two was used.
    - Episodes are cut with the library's buffer of 2 to 25 messages, not with the evaluation script's 1 to
      20.
    - When no known fact is similar enough to an episode its facts are extracted directly, as at a cold
      start, because there is nothing to predict from.
    - Facts keep the ids of the messages that state them.
    - A theme is loose when the mean cosine of its facts to their centroid is below .72. Candidate splits
      grow from the ten least similar pairs of its facts.
    - Closeness is 1 − |s − median s|, where s is a theme's mean cosine to its 10 nearest other themes; two
      themes are not merged into one that would have to split again.
    - An unusable reply never ends an episode; an episode without a narrative is its first words, one
      without facts has none, and a theme without a summary is its most central fact.
    - After each fact its theme splits or, if it need not, is merged with its nearest; other themes stay.
    - Themes are summed up once, when the history has been read; a theme of one fact is that fact.
    - Only a gain of at most −.4 counts as low. Gains are measured with episodes as narratives, even where
      their messages are shown in the end.
    - Dense search only, without the official code's BM25.
    - The context takes themes, facts, episodes and messages by their cosine to the question while they fit
      the run's budget; a message has its episode's.
    - What a prompt shows is cut to the model's window, all lines at the same length.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from memsif_ray.config import RunConfig, Strict
from memsif_ray.memory.reading import message_item
from memsif_ray.methods.base import Tables, Tools, settings_of
from memsif_ray.methods.lines import chronological, pack
from memsif_ray.methods.notebook import NoteBook
from memsif_ray.methods.sources import ranked_ids
from memsif_ray.methods.xmemory.doubt import Doubt
from memsif_ray.methods.xmemory.episodes import Writer, WritingLimits, note_line
from memsif_ray.methods.xmemory.search import Hierarchy, Hit, ReadingLimits, gate
from memsif_ray.methods.xmemory.themes import ThemeLimits, centroid, themes_of
from memsif_ray.text import is_blank
from memsif_ray.types import Context, ContextItem, Conversation, Decision, Message, Note, Question


class Settings(Strict):
    """xMemory's settings, by part, e.g. `baselines.xmemory.themes.merge`."""

    writing: WritingLimits = WritingLimits()
    themes: ThemeLimits = ThemeLimits()
    reading: ReadingLimits = Field(ReadingLimits(), description="Of one question")


class XMemory:
    """A hierarchy of themes, facts, episodes and messages."""

    name = "xmemory"

    def __init__(self, config: RunConfig, tools: Tools) -> None:
        """Nothing is known until `ingest` or `load`."""
        self._settings = settings_of(config, self.name, Settings)
        self._budget = config.memory.retrieval.context_tokens
        self._window = config.model.context_window
        self._tools = tools
        self._book = NoteBook(tools.embedder)
        self._decisions: list[Decision] = []
        self._messages: dict[str, Message] = {}
        self._hierarchy = self._read()

    async def ingest(self, conversation: Conversation) -> None:
        """Cut and narrate episodes, learn what each adds, and group the facts into themes."""
        self._know(conversation)
        writer = Writer(self._tools, self._settings.writing, self._window)
        episodes = await writer.narrate(await writer.cut(list(self._messages.values())))
        await self._book.write(episodes)
        await writer.learn(self._book, episodes, self._messages)
        await self._book.write(await writer.summarise(list(self._grouped())))
        self._decisions = writer.decisions
        self._hierarchy = self._read()

    def dump(self) -> Tables:
        """Episodes, facts and themes, and what was decided."""
        return {"notes": self._book.log, "decisions": self._decisions}

    async def load(self, conversation: Conversation, tables: Tables) -> None:
        """Restore the hierarchy; only embeddings are made again."""
        self._know(conversation)
        self._decisions = list(tables.get("decisions", ()))
        await self._book.restore(tables.get("notes", ()))
        self._hierarchy = self._read()

    async def context(self, question: Question) -> Context:
        """Themes and facts, the episodes that pass the gate, and the messages of those that help much."""
        if not self._messages or is_blank(question.text):
            return Context(())
        query = (await self._tools.embedder.embed([question.text]))[0]
        limits = self._settings.reading
        themes, facts = self._hierarchy.chosen(query, limits)
        pool = self._hierarchy.pool(query, facts, limits)
        doubt = Doubt(question, tools=self._tools, window=self._window)
        episodes, decisions = await gate(question, [*themes, *facts], pool, doubt=doubt, limits=limits)
        hits = sorted([*facts, *episodes, *themes], key=lambda hit: -hit.score)
        items = [item for hit in hits for item in self._items(hit)]
        return Context(
            chronological(pack(items, self._budget, self._tools.tokens)),
            retrieved_ids=ranked_ids(items),
            decisions=tuple(decisions),
        )

    async def learn(self, question: Question, context: Context) -> None:
        """Keeps nothing from questions."""

    def _know(self, conversation: Conversation) -> None:
        self._messages = {m.message_id: m for m in conversation.messages if not is_blank(m.content)}

    def _read(self) -> Hierarchy:
        return Hierarchy(self._book, neighbours=self._settings.themes.neighbours)

    def _grouped(self) -> Iterator[tuple[list[Note], Note]]:
        """Each theme's facts, and the one nearest to their centroid."""
        facts = self._book.of_kind("fact")
        if not facts:
            return
        vectors = self._book.matrix(facts)
        for group in themes_of(vectors, self._settings.themes):
            members = vectors[list(group)]
            central = int((members @ centroid(members)).argmax())
            yield [facts[at] for at in group], facts[group[central]]

    def _items(self, hit: Hit) -> Iterator[ContextItem]:
        """A note's line, and behind it those of the messages that it was expanded to."""
        note = hit.note
        yield ContextItem(
            note.note_id, note.kind, note_line(note), note.message_ids, note.timestamp, hit.score
        )
        for message_id in note.message_ids if hit.expanded else ():
            message = self._messages[message_id]
            yield message_item(message, hit.score)
