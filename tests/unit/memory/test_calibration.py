from datetime import datetime

import numpy as np
import pytest

from memsif_ray.clients.entities import RuleEntities
from memsif_ray.clients.scripted import HashEmbedder
from memsif_ray.errors import ConfigError
from memsif_ray.memory.calibration import boundary_thresholds, calibrate, join_threshold, shares
from memsif_ray.types import Conversation, Message

TOPICS = (
    ["parrot", "cage", "seed", "feather", "wing", "beak"],
    ["tent", "trail", "boots", "summit", "campfire", "lake"],
    ["oven", "flour", "yeast", "crust", "butter", "sugar"],
)
ANY_TOPIC = [
    "morning",
    "table",
    "window",
    "letter",
    "street",
    "garden",
    "music",
    "coffee",
    "picture",
    "bridge",
]


def conversation(texts, conversation_id="c1"):
    when = datetime(2024, 2, 1)
    messages = tuple(
        Message(conversation_id, f"D1:{i + 1}", i, 1 + i // 20, "Rens", text, when)
        for i, text in enumerate(texts)
    )
    return Conversation(conversation_id, "sample", ("Rens",), messages)


def chatter(count, rng):
    """Runs of four messages about one topic, each mixed with words of any topic."""
    return [
        " ".join(
            [
                *rng.choice(TOPICS[(i // 4) % 3], size=3, replace=False),
                *rng.choice(ANY_TOPIC, size=4, replace=False),
            ]
        )
        for i in range(count)
    ]


def test_boundary_thresholds_are_quantiles():
    assert boundary_thresholds(np.linspace(0, 1, 1001)) == (0.20, 0.65)


def test_join_threshold_is_the_median():
    assert join_threshold(np.array([0.1, 0.4, 0.9])) == 0.4


def test_shares_count_both_ends_as_decided():
    assert shares(np.array([0.2, 0.3, 0.5, 0.7]), 0.2, 0.7) == (0.25, 0.25, 0.5)


def test_scores_that_do_not_vary_cannot_be_calibrated():
    with pytest.raises(ConfigError, match="hardly varies"):
        boundary_thresholds(np.full(200, 0.4))


async def test_thresholds_leave_under_half_of_the_boundaries_to_a_judge():
    conversations = [conversation(chatter(400, np.random.default_rng(seed)), f"c{seed}") for seed in (1, 2)]
    found = await calibrate(conversations, HashEmbedder(256), RuleEntities())
    assert [c.normalisation for c in found] == ["clip", "affine"]
    for calibration in found:
        assert calibration.thresholds.tau_split < calibration.thresholds.tau_merge
        assert calibration.shares.judged < 0.5
        assert sum(calibration.shares) == pytest.approx(1)
        assert calibration.boundaries == 798


async def test_blank_messages_are_not_measured():
    texts = chatter(300, np.random.default_rng(1))
    spaced = [text for pair in zip(texts, [" "] * len(texts), strict=True) for text in pair]
    found = await calibrate([conversation(spaced)], HashEmbedder(256), RuleEntities())
    assert found[0].boundaries == 299


async def test_too_little_text_is_refused():
    with pytest.raises(ConfigError, match="at least 100 messages, these have 3"):
        await calibrate([conversation(["a cat", "a dog", "", "a bird"])], HashEmbedder(), RuleEntities())
