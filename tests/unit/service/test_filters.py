"""What a search is confined to by metadata rests on nothing else."""

from datetime import datetime

import pytest

from memsif_ray.service.filters import Sieve
from memsif_ray.service.models import SearchRequest
from memsif_ray.service.store import StoredMessage
from memsif_ray.types import Fact, Track

DAY = datetime(2024, 5, 1)
APPS = {"m0": "x", "m1": "y", "m2": "x"}
KNOWN = {
    name: StoredMessage(name, n, 0, None, "user", "Rens", "I love milk.", DAY, DAY, "op", {"app": app})
    for n, (name, app) in enumerate(APPS.items())
}


def fact(*message_ids):
    return Fact("f", Track.CORE, "Rens", "Preference", "drink", "Rens loves milk.", message_ids, (), DAY)


@pytest.mark.parametrize(
    ("message_ids", "passes"), [(["m0"], True), (["m0", "m2"], True), (["m0", "m1"], False), ([], False)]
)
def test_a_fact_passes_when_all_its_messages_do(message_ids, passes):
    asked = SearchRequest(conversation_id="c", query="milk", filters={"app": "x"})
    assert Sieve(asked, KNOWN).fact(fact(*message_ids)) is passes


def test_without_filters_everything_passes_and_nothing_is_looked_up():
    sieve = Sieve(SearchRequest(conversation_id="c", query="milk"), KNOWN)
    assert sieve.every_fact and sieve.every_message and sieve.fact(fact("m0", "m1"))
