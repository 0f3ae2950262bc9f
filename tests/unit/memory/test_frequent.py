"""What occurs nearly everywhere is dropped, from counts seen so far."""

from memsif_ray.memory.frequent import FrequentEntityFilter


def test_speakers_never_count_and_nothing_else_is_judged_too_early():
    speakers = FrequentEntityFilter.for_speakers(["Ada Byron", "Zo\u00eb."])
    assert speakers.keep({"ada", "byron", "ada byron", "zo\u00eb", "piano"}) == {"piano"}
    assert all(speakers.keep({"piano"}) == {"piano"} for _ in range(8))
    assert speakers.keep({"piano", "boat"}) == {"boat"}


def test_an_entity_returns_once_it_is_rare_again():
    stream = FrequentEntityFilter()
    for _ in range(10):
        stream.keep({"piano"})
    assert stream.keep({"piano"}) == frozenset()
    for _ in range(60):
        stream.keep({"boat"})
    assert stream.keep({"piano", "boat"}) == {"piano"}


def test_later_messages_change_nothing_earlier_and_state_carries_over():
    messages = [{"a"}, {"b"}, {"a", "c"}, set(), {"a"}] * 8
    whole = FrequentEntityFilter()
    kept = [whole.keep(message) for message in messages]
    first = FrequentEntityFilter()
    part = [first.keep(message) for message in messages[:17]]
    second = FrequentEntityFilter(seen=first.seen, counts=first.counts.copy())
    assert part + [second.keep(message) for message in messages[17:]] == kept
    assert any("a" in entities for entities in kept[:9])
    assert not any("a" in entities for entities in kept[9:])
