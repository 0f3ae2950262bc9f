"""One subject per person or thing: alike spelling or a learnt alias, never mere similarity."""

import json
from collections import defaultdict
from itertools import permutations

import pytest

from memsif_ray.memory.subjects import SubjectRegistry, name_key

MENTIONS = {
    "D1:1": "QRT",
    "D9:3": "QRT",
    "D2:1": "RX1603",
    "D2:2": "RX1605",
    "D3:1": "Sam (my dog)",
    "D3:4": "Sam Okafor from accounts",
    "D4:1": "Zo\u00eb",
    "D6:1": "Zoe\u0308",
    "D7:1": "zo\u00eb.",
}
GROUPS = [["D1:1", "D9:3"], ["D2:1"], ["D2:2"], ["D3:1"], ["D3:4"], ["D4:1", "D6:1", "D7:1"]]


@pytest.mark.parametrize("backwards", [False, True])
def test_namesakes_stay_apart_and_twins_come_together(backwards):
    registry = SubjectRegistry(["Rens", "Ada"])
    groups = defaultdict(list)
    for mention, name in sorted(MENTIONS.items(), reverse=backwards):
        groups[registry.resolve(name, speaker="Rens")].append(mention)
    assert sorted(sorted(group) for group in groups.values()) == sorted(GROUPS)


@pytest.mark.parametrize("name", ["Mirre", "MIRRE", " mirre. ", "Mirre's", "Mirre’s", '"Mirre"', "Mirre,"])
def test_case_punctuation_and_possessive_do_not_split(name):
    assert SubjectRegistry(["Mirre"]).resolve(name) == "Mirre"


def test_a_relative_is_somebody_else():
    registry = SubjectRegistry(["Mirre", "Rens"])
    assert registry.resolve("Mirre's sister") == registry.resolve("Mirre’s  Sister.") == "mirre's sister"
    assert registry.resolve("my sister", speaker="Mirre") == "mirre's sister"
    assert registry.resolve("my sister", speaker="Rens") == "rens's sister"


@pytest.mark.parametrize("name", ["I", "me", "Myself", "user", "The user", "the speaker", "我"])
def test_first_person_is_the_speaker(name):
    assert SubjectRegistry(["沈墨", "Rens"]).resolve(name, speaker="沈墨") == "沈墨"


def test_the_user_is_the_user_whoever_speaks():
    registry = SubjectRegistry(["Ada", "assistant"], user="Ada")
    assert registry.resolve("the user", speaker="assistant") == "Ada"
    assert registry.resolve("I", speaker="assistant") == "assistant"
    assert SubjectRegistry().resolve("user") == "user"


def test_learnt_aliases_resolve_and_survive_storage():
    registry = SubjectRegistry(["Melanie", "Caroline"])
    registry.add_alias("Mel", "Melanie")
    registry.add_alias("Lissy", "Melissa Tran")
    registry.add_alias("Liss", "Lissy")
    again = SubjectRegistry.from_plain(json.loads(json.dumps(registry.to_plain())))
    for store in (registry, again):
        assert store.resolve("mel!") == "Melanie"
        assert store.resolve("Liss") == store.resolve("Melissa Tran") == "melissa tran"


def test_an_alias_never_fuses_two_people():
    registry = SubjectRegistry(["Sam Okafor", "Ada"])
    registry.add_alias("Sam", "Sam (my dog)")
    registry.add_alias("sam", "Sam (my dog)")
    for alias, subject in (("Sam", "Sam Okafor"), ("Ada", "Sam Okafor"), ("Sam (my dog)", "Ada")):
        with pytest.raises(ValueError, match="already means"):
            registry.add_alias(alias, subject)
    assert registry.resolve("Sam") == "sam (my dog)"


def test_the_order_of_mentions_does_not_matter():
    names = ("Zoë", "zoë.", "Zoe\u0308's")
    outcomes = {tuple(SubjectRegistry().resolve(name) for name in order) for order in permutations(names)}
    assert outcomes == {("zoë",) * 3}


@pytest.mark.parametrize("name", ["", "...", "C#", "C++", "Jr."])
def test_odd_names_keep_what_distinguishes_them(name):
    assert name_key(name) == {"...": "", "Jr.": "jr"}.get(name, name.lower())
