"""xMemory's themes, with numbers worked out by hand: directions in the plane, named by their angle."""

import numpy as np
import pytest

from memsif_ray.methods.xmemory.themes import (
    Facts,
    ThemeLimits,
    attach,
    merge,
    nearest,
    objective,
    split,
    themes_of,
)

LIMITS = ThemeLimits()


def directions(*degrees):
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def at(*degrees):
    return Facts(directions(*degrees))


@pytest.mark.parametrize(
    ("size", "degrees", "where"),
    [
        (11, 50, 0),  # cos 0.643 ≥ 0.62
        (12, 50, 0),  # even when the theme is full
        (11, 58, 0),  # cos 0.530 ≥ 0.52, and there is room
        (12, 58, 1),  # no room
        (11, 59, 1),  # cos 0.515
    ],
)
def test_a_fact_attaches_at_062_or_at_052_while_there_is_room(size, degrees, where):
    groups, found = attach(size, [tuple(range(size))], at(*[0] * size, degrees), LIMITS)
    assert found == where and len(groups) == where + 1
    assert groups[0][:size] == tuple(range(size)) and groups[where][-1] == size


def test_a_fact_attaches_to_the_nearest_theme():
    assert attach(2, [(0,), (1,)], at(0, 60, 40), LIMITS) == ([(0,), (1, 2)], 1)


def test_the_objective_of_themes_of_unequal_size():
    facts = at(0, 0, 90)
    # N² / (K Σ n²) = 9 / (2 · 5); both themes are perfectly tight and equally far from each other.
    assert objective([(0, 1), (2,)], facts, 10) == pytest.approx(0.9 + 1)
    # One theme: 9 / 9, and no other theme to be close to. Its centroid points along (2, 1).
    assert objective([(0, 1, 2)], facts, 10) == pytest.approx(1 + (2 * 2 + 1) / np.sqrt(5) / 3)


def test_the_objective_lowers_a_theme_that_lies_apart_from_the_median():
    # Nearest others: 0° has 60° (cos 0.5), 60° and 90° have each other (cos 30° = 0.866, the median).
    expected = 1 + (1 - (np.sqrt(3) / 2 - 0.5) + 1 + 1) / 3
    assert objective([(0,), (1,), (2,)], at(0, 60, 90), 1) == pytest.approx(expected)


def test_cohesion_is_the_mean_cosine_to_the_centroid():
    assert at(0, 60).cohesion((0, 1)) == pytest.approx(np.cos(np.radians(30)))
    assert at(0, 180).cohesion((0, 1)) == pytest.approx(0, abs=1e-6)


def test_the_nearest_neighbour_graph():
    assert nearest(directions(0, 10, 40, 90), 2).tolist() == [[1, 2], [0, 2], [1, 0], [2, 1]]
    assert nearest(directions(0), 10).shape == (1, 0)


def test_a_split_maximises_the_objective():
    facts = at(0, 80, 10, 90, 5)
    best = split([(0, 1, 2, 3, 4)], 0, facts, LIMITS)
    assert best == [(0, 2, 4), (1, 3)]
    others = [[(0,), (1, 2, 3, 4)], [(0, 1, 2, 4), (3,)], [(0, 2), (1, 3, 4)]]
    assert all(objective(best, facts, 10) > objective(other, facts, 10) for other in others)


def test_a_split_leaves_other_themes_where_they_are():
    facts = at(200, 0, 90, 5, 95, 300)
    assert split([(0,), (1, 2, 3, 4), (5,)], 1, facts, LIMITS) == [(0,), (1, 3), (2, 4), (5,)]


def test_a_theme_of_more_than_twelve_splits():
    angles = [0, 40] * 6
    assert themes_of(directions(*angles), LIMITS) == [tuple(range(12))]  # cohesion cos 20° = 0.94
    assert themes_of(directions(*angles, 0), LIMITS) == [tuple(range(0, 13, 2)), tuple(range(1, 12, 2))]


def test_a_loose_theme_splits_from_eight_facts_on():
    limits = ThemeLimits(attach=0.3, attach_roomy=0.3, loose=0.8)
    vectors = directions(
        45, *[0, 90] * 4
    )  # the first draws the others into one theme, of cohesion about 0.74
    assert themes_of(vectors[:7], limits) == [(0, 1, 2, 3, 4, 5, 6)]
    assert len(themes_of(vectors[:8], limits)) == 2
    assert themes_of(vectors[:8], limits.model_copy(update={"loose": 0.72})) == [(0, 1, 2, 3, 4, 5, 6, 7)]


def test_themes_merge_when_the_objective_rises():
    facts = at(0, 0, 0, 20)
    # Apart: 16 / (2 · 10) + 1 = 1.8. Together: 1 + 0.9886.
    assert merge([(0, 1, 2), (3,)], 1, facts, LIMITS) == [(0, 1, 2, 3)]


def test_themes_stay_apart_when_it_does_not_rise():
    # Apart: 1 + 1 = 2. Together: 1 + cos 10° = 1.985.
    assert merge([(0,), (1,)], 1, at(0, 20), LIMITS) == [(0,), (1,)]


def test_themes_below_078_are_not_even_tried():
    facts = at(0, 0, 0, 0, 0, 40)  # cos 40° = 0.766; together 1.96, apart 36 / (2 · 26) + 1 = 1.69
    assert objective([(0, 1, 2, 3, 4, 5)], facts, 10) > objective([(0, 1, 2, 3, 4), (5,)], facts, 10)
    assert merge([(0, 1, 2, 3, 4), (5,)], 1, facts, LIMITS) == [(0, 1, 2, 3, 4), (5,)]


def test_no_merge_makes_a_theme_that_must_split():
    facts = at(*[0] * 12, 10)
    assert merge([tuple(range(12)), (12,)], 1, facts, LIMITS) == [tuple(range(12)), (12,)]


def test_every_fact_is_in_one_theme():
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(200, 6)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    groups = themes_of(vectors, LIMITS)
    assert sorted(fact for group in groups for fact in group) == list(range(200))
    assert max(map(len, groups)) <= 12
    assert themes_of(vectors[:0], LIMITS) == []
