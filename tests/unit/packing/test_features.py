from datetime import datetime, timedelta

import numpy as np
import pytest

from memsif_ray.clients.scripted import HashEmbedder
from memsif_ray.memory.tools import Tools
from memsif_ray.packing.features import EXTENDED, PAPER, features_of, geometry
from memsif_ray.types import Category, ContextItem, Question

DAY = datetime(2024, 5, 1)
NOTES = (
    ContextItem("a", "message", "one two three four", ("D1:1",), DAY, 0.9),
    ContextItem("b", "message", "five six", ("D1:2",), DAY, 0.1),
    ContextItem("c", "message", "seven 8 nine", ("D2:1",), DAY + timedelta(days=3), 0.5),
)


class Words:
    exact = True

    def count(self, text):
        return len(text.split())


TOOLS = Tools(None, HashEmbedder(), None, Words())


def question(category=Category.TEMPORAL, asked_at=None):
    return Question("q", "c", 0, "When five or six?", category, asked_at)


async def test_the_eleven_features_of_the_paper():
    features = await features_of(NOTES, question(), budget=6, tools=TOOLS)
    assert features.names == PAPER and len(PAPER) == 11
    expected = {
        "budget_512": 6 / 512,
        "notes": 3,
        "cost_per_budget": 9 / 6,
        "fit_fraction": 2 / 3,  # the best note of 4 words, and the small one of 2 after one that does not fit
        "sessions": 2,
        "type_S-hop": 0,
        "type_M-hop": 0,
        "type_Temp": 1,
        "type_Kno": 0,
    }
    assert {name: features[name] for name in expected} == expected
    assert features.embedder == "hash-64"


async def test_an_adversarial_question_is_of_no_type():
    features = await features_of(NOTES, question(Category.ADVERSARIAL), budget=6, tools=TOOLS)
    assert features.values[-4:] == (0, 0, 0, 0)


def test_geometry_of_known_vectors():
    assert geometry(np.array([[1.0, 0.0]])) == (0.0, 1.0)
    assert geometry(np.array([[1.0, 0.0], [1.0, 0.0]])) == pytest.approx((0.0, 1.0))
    assert geometry(np.array([[1.0, 0.0], [0.0, 1.0]])) == pytest.approx((0.5, 0.0))
    r = 2**-0.5  # unit vectors: the spread is 1 - |mean|²
    spread, cosine = geometry(np.array([[1.0, 0.0], [0.0, 1.0], [r, r]]))
    assert cosine == pytest.approx((0 + r + r) / 3)
    assert spread == pytest.approx(1 - (3 + 2 * (0 + r + r)) / 9)


async def test_the_extended_set_starts_with_the_papers_and_has_a_name_of_its_own():
    asked = question(asked_at=DAY + timedelta(days=4))
    plain = await features_of(NOTES, asked, budget=6, tools=TOOLS)
    more = await features_of(NOTES, asked, budget=6, tools=TOOLS, kind="extended")
    assert more.names == EXTENDED and more.values[:11] == plain.values
    assert more["question_words"] == 4
    assert more["log_age_days"] == pytest.approx(np.log(5))
    assert more["log_span_days"] == pytest.approx(np.log(4))
    assert more["lexical_overlap"] == 0.5
    assert more["largest_per_budget"] == 4 / 6
    assert more["digit_share"] == pytest.approx(1 / 9)


@pytest.mark.parametrize(("notes", "budget"), [((), 6), (NOTES, 0), (NOTES, -1)])
async def test_nothing_to_decide_has_no_features(notes, budget):
    with pytest.raises(ValueError, match="positive budget"):
        await features_of(notes, question(), budget=budget, tools=TOOLS)
