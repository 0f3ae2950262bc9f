import asyncio
import random

import pytest

from memsif_ray.clients.embedding_cache import CachedEmbedder
from memsif_ray.clients.ledger import Ledger
from memsif_ray.clients.metering import MeteredChat, MeteredEmbedder, call_key
from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.clients.stopwatch import Stopwatch
from memsif_ray.errors import RequestRefused, ServiceBusy, ServiceError
from memsif_ray.ports import ChatModel, Embedder
from memsif_ray.types import CallScope, ChatReply, ChatRequest

LABEL = {
    "type": "object",
    "properties": {"label": {"type": "string", "enum": ["CORRECT"]}},
    "required": ["label"],
}


def asking(user="Where?", *, question="q1", **settings):
    scope = CallScope("memsif", "conv-1", question, settings.pop("run", 0))
    return ChatRequest(
        **{"stage": "answer", "system": "s", "user": user, "max_tokens": 64, "scope": scope, **settings}
    )


class Counting:
    """Says how many calls came before, after a random wait: equal requests get different replies."""

    def __init__(self):
        self.calls = 0

    async def complete(self, request):
        said, self.calls = f"reply {self.calls}", self.calls + 1
        await asyncio.sleep(random.Random(self.calls).random() * 0.01)
        return ChatReply(said, "stop", "served", 11, 7, 0.25, 2)


async def test_a_finished_call_is_replayed_to_the_letter(tmp_path):
    path, model = tmp_path / "calls", Counting()
    requests = [asking("a"), asking("b"), asking("a")]
    with Ledger(path) as ledger:
        chat = MeteredChat(model, ledger, model_name="m")
        assert isinstance(chat, ChatModel)
        first = [await chat.complete(request) for request in requests]
        rows = ledger.rows()
    written = path.read_bytes()
    with Ledger(path) as ledger:
        chat = MeteredChat(model, ledger, model_name="m")
        again = [await chat.complete(request) for request in requests]
        assert ledger.rows() == rows
    assert (again, model.calls, path.read_bytes()) == (first, 3, written)
    assert [reply.content for reply in first] == ["reply 0", "reply 1", "reply 2"]


async def test_concurrent_equal_calls_keep_their_own_replies(tmp_path):
    path, model = tmp_path / "calls", Counting()
    for _ in range(2):
        with Ledger(path) as ledger:
            chat = MeteredChat(model, ledger, model_name="m")
            replies = await asyncio.gather(*(chat.complete(asking()) for _ in range(50)))
            assert [reply.content for reply in replies] == [f"reply {i}" for i in range(50)]
            assert [row.occurrence for row in ledger.rows()] == list(range(50))
    assert model.calls == 50


async def test_a_resumed_unit_calls_only_for_what_is_missing(tmp_path):
    path, model = tmp_path / "calls", Counting()
    with Ledger(path) as ledger:
        for user in "ab":
            await MeteredChat(model, ledger, model_name="m").complete(asking(user))
    with Ledger(path) as ledger:
        for user in "abcd":
            await MeteredChat(model, ledger, model_name="m").complete(asking(user))
        assert (len(ledger.rows()), model.calls) == (4, 4)


async def test_a_failed_call_is_recorded_and_tried_again_on_the_next_start(tmp_path):
    path = tmp_path / "calls"
    failure = ServiceBusy("slow down", "rate_limited")
    failure.attempts = 5
    with Ledger(path) as ledger:
        chat = MeteredChat(ScriptedChat(lambda request: failure), ledger, model_name="m")
        with pytest.raises(ServiceBusy):
            await chat.complete(asking())
        (row,) = ledger.rows()
    assert (row.outcome, row.attempts, row.content) == ("error:ServiceBusy", 5, None)
    assert (row.error, row.model) == ("[rate_limited] slow down", "m")
    with Ledger(path) as ledger:
        reply = await MeteredChat(Counting(), ledger, model_name="m").complete(asking())
        (row,) = ledger.rows()
    assert (reply.content, row.outcome, row.error) == ("reply 0", "ok", "")


async def test_one_hundred_concurrent_rows_three_fail(tmp_path):
    """MC-30 at the ledger: one row per call, with its reply or its error."""
    faults = {
        "17": RequestRefused("too long", "context_length_exceeded"),
        "42": RequestRefused("filtered", "content_filter"),
        "63": RequestRefused("bad schema", "http_400"),
    }
    model = ScriptedChat(lambda request: faults.get(request.user, "fine"))
    with Ledger(tmp_path / "calls") as ledger:
        chat = MeteredChat(model, ledger, model_name="m")
        calls = (chat.complete(asking(str(i), question=f"q{i:02}")) for i in range(100))
        replies = await asyncio.gather(*calls, return_exceptions=True)
        rows = ledger.rows()
    assert [row.question_id for row in rows] == [f"q{i:02}" for i in range(100)]
    assert [i for i, row in enumerate(rows) if row.failed] == [17, 42, 63]
    assert [i for i, reply in enumerate(replies) if isinstance(reply, ServiceError)] == [17, 42, 63]
    assert rows[17].error == "[context_length_exceeded] too long"


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ('{"label": "CORRECT"}', "ok"),
        ('{"label": "PERHAPS"}', "invalid:unknown_value"),
        ("no idea", "invalid:not_json"),
        (None, "invalid:no_content"),
    ],
)
async def test_the_outcome_says_whether_the_reply_can_be_used(tmp_path, said, outcome):
    path, model = tmp_path / "calls", ScriptedChat(lambda request: said)
    for _ in range(2):  # an unusable reply is a finished call too: replayed, not asked again
        with Ledger(path) as ledger:
            reply = await MeteredChat(model, ledger, model_name="m").complete(asking(schema=LABEL))
            assert (reply.content, ledger.rows()[0].outcome) == (said, outcome)
    assert len(model.requests) == 1


def test_the_key_changes_with_all_that_decides_a_reply():
    base = asking()
    others = [
        asking("Who?"),
        asking(question="q2"),
        asking(run=1),
        asking(stage="judge"),
        asking(system="t"),
        asking(max_tokens=65),
        asking(temperature=0.1),
        asking(seed=1),
        asking(attempt=1),
        asking(schema=LABEL),
    ]
    assert len({call_key(request, "m") for request in [base, *others]} | {call_key(base, "n")}) == 12
    assert call_key(base, "m") == call_key(asking(), "m")


def test_a_wish_for_log_probabilities_makes_a_new_key_and_changes_no_other():
    assert call_key(asking(logprobs=True), "m") != call_key(asking(), "m")
    # As written by earlier versions: ledgers of finished runs must still replay.
    assert call_key(asking(), "m").startswith("f293e123c04d4972")


async def test_a_replayed_reply_keeps_its_log_probability(tmp_path):
    model = ScriptedChat(lambda request: "Ghent", logprob=lambda request: -0.1 / 3)
    for _ in range(2):
        with Ledger(tmp_path / "calls") as ledger:
            reply = await MeteredChat(model, ledger, model_name="m").complete(asking(logprobs=True))
            assert reply.mean_logprob == ledger.rows()[0].mean_logprob == -0.1 / 3
    assert len(model.requests) == 1


async def test_nobody_is_told_a_log_probability_unasked():
    reply = await ScriptedChat(lambda request: "Ghent", logprob=lambda request: -1.0).complete(asking())
    assert reply.mean_logprob is None


def test_odd_unicode_has_a_key():
    assert call_key(asking("\ud800 茶"), "m") != call_key(asking("茶"), "m")


class WordCounter:
    """One token per word; remembers what it was asked."""

    exact = True

    def __init__(self):
        self.asked = []

    def count(self, text):
        self.asked.append(text)
        return len(text.split())


def metered(ledger, embedder=None, tokens=None):
    scope = CallScope("memsif", "conv-1")
    return MeteredEmbedder(embedder or HashEmbedder(), ledger, scope=scope, tokens=tokens or WordCounter())


async def test_embedding_calls_are_counted_but_never_replayed(tmp_path):
    for _ in range(2):
        with Ledger(tmp_path / "calls") as ledger:
            embedder = metered(ledger)
            assert isinstance(embedder, Embedder) and embedder.model_id == "hash-64"
            assert (await embedder.embed(["tea", "oboe"])).shape == (2, 64)
            (row,) = ledger.rows()
            assert (row.stage, row.texts, row.model, row.conversation_id) == ("embed", 2, "hash-64", "conv-1")
    assert (tmp_path / "calls").read_bytes().count(b"\n") == 2


async def test_what_is_embedded_again_to_load_a_memory_is_charged_to_nobody(tmp_path):
    with Ledger(tmp_path / "calls") as ledger:
        embedder = metered(ledger)
        with embedder.unbooked():
            assert (await embedder.embed(["tea", "oboe"])).shape == (2, 64)
        await embedder.embed(["a question"])
        assert [row.texts for row in ledger.rows()] == [1]


async def test_each_method_is_charged_for_the_tokens_of_its_texts_whoever_filled_the_cache(tmp_path):
    cached = CachedEmbedder(HashEmbedder(), tmp_path)
    for name in ("first", "second"):
        with Ledger(tmp_path / name) as ledger:
            await metered(ledger, cached).embed(["green tea", "an old oboe"])
            assert [row.prompt_tokens for row in ledger.rows()] == [5]


async def test_a_resumed_unit_counts_no_text_twice(tmp_path):
    for asked in (["green tea"], []):
        tokens = WordCounter()
        with Ledger(tmp_path / "calls") as ledger:
            await metered(ledger, tokens=tokens).embed(["green tea"])
            assert ([row.prompt_tokens for row in ledger.rows()], tokens.asked) == ([2], asked)


async def test_texts_that_were_not_embedded_have_no_tokens(tmp_path):
    class Gone(HashEmbedder):
        async def embed(self, texts):
            raise ServiceBusy("gone")

    with Ledger(tmp_path / "calls") as ledger:
        with pytest.raises(ServiceBusy):
            await metered(ledger, Gone()).embed(["green tea"])
        assert [(row.prompt_tokens, row.outcome) for row in ledger.rows()] == [(None, "error:ServiceBusy")]


class Slow(HashEmbedder):
    """Takes as long as it is told, on the clock that the metering reads."""

    def __init__(self, monkeypatch, seconds):
        super().__init__()
        self._seconds, self._now = iter(seconds), 0.0
        monkeypatch.setattr("memsif_ray.clients.metering.time.perf_counter", lambda: self._now)

    async def embed(self, texts):
        self._now += next(self._seconds)
        return await super().embed(texts)


async def test_an_embedding_that_comes_from_the_cache_at_a_later_start_keeps_its_seconds(
    tmp_path, monkeypatch
):
    embedder = Slow(monkeypatch, [2.0, 0.5, 3.0])
    for kept, told in ((2.0, 2.0), (2.0, 2.0), (3.0, 3.0)):
        watch = Stopwatch()
        began = watch()
        with Ledger(tmp_path / "calls") as ledger:
            scope = CallScope("memsif", "conv-1")
            metered = MeteredEmbedder(embedder, ledger, scope=scope, tokens=WordCounter(), stopwatch=watch)
            await metered.embed(["tea"])
            assert [row.latency_s for row in ledger.rows()] == [kept]
        assert watch() - began == told


async def test_a_replayed_call_takes_as_long_as_when_it_was_made(tmp_path):
    took = []
    for _ in range(2):
        watch = Stopwatch()
        with Ledger(tmp_path / "calls") as ledger:
            began = watch()
            await MeteredChat(HalfHour(), ledger, model_name="m", stopwatch=watch).complete(asking())
            took.append(watch() - began)
    assert took[0] < 1800 <= took[1]


class HalfHour:
    """Says that it took half an hour."""

    async def complete(self, request):
        return ChatReply("at last", "stop", "served", latency_s=1800.0)
