from collections import Counter

import pytest

from memsif_ray.probing.items import (
    BoundaryItem,
    ConsolidationItem,
    DistilItem,
    ExtractionItem,
    SufficiencyItem,
    SynthesisItem,
    TrajectoryItem,
    load_items,
)
from memsif_ray.probing.trials import LEVEL, Trial

KINDS = {
    "boundary": BoundaryItem,
    "trajectory": TrajectoryItem,
    "extract": ExtractionItem,
    "consolidate": ConsolidationItem,
    "sufficiency": SufficiencyItem,
    "distil": DistilItem,
    "synthesise": SynthesisItem,
}
CHOICES = {
    "boundary": "continues",
    "trajectory": "compatible",
    "sufficiency": "sufficient",
    "consolidate": "op",
}


@pytest.mark.parametrize("decision", KINDS)
def test_ids_are_unique(decision):
    ids = [item.id for item in load_items(decision, KINDS[decision])]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(("decision", "label"), CHOICES.items())
def test_choices_are_balanced_and_enough_to_beat_chance(decision, label):
    items = load_items(decision, KINDS[decision])
    counts = Counter(getattr(item, label) for item in items)
    assert len(items) >= 16 and len(set(counts.values())) == 1
    chance = 1 / len(counts)
    assert Trial(len(items), len(items), chance).p_value < LEVEL
    assert Trial(round(chance * len(items)), len(items), chance).p_value > LEVEL


def test_planted_words_occur_in_what_is_shown():
    for item in load_items("extract", ExtractionItem):
        said = " ".join(text for _, text in item.messages)
        assert all(word in said for fact in item.facts for word in fact.words), item.id
    for item in load_items("distil", DistilItem):
        said = " ".join(text for _, text in item.messages)
        assert all(word in said for words in item.words for word in words), item.id
    for item in load_items("synthesise", SynthesisItem):
        assert all(word in " ".join(item.notes) for word in item.words), item.id
