from __future__ import annotations

import pytest

from memsif_ray.evaluation.abstention import abstains


@pytest.mark.parametrize(
    "answer",
    [
        "Not mentioned in the conversation.",
        "No information available",
        "It wasn't mentioned.",
        "It was never explicitly mentioned.",
        "I don't know.",
        "I don\u2019t know",
        "This cannot be determined from the context.",
        "Unanswerable.",
        "unknown",
        "The conversation doesn't mention an opera.",
        "Caroline did not mention a car.",
        "The provided context does not specify the opera.",
        "There is no specific information about that.",
        "I do not have enough information to answer.",
        "Unable to determine.",
        "I am unable to answer.",
        "You did not mention this information. You mentioned a cat but not a hamster.",
        "The information provided is not enough. You fixed the fence, but you did not mention buying cows.",
        "You mentioned ten days in one place but did not mention the other trip.",
    ],
)
def test_an_answer_that_says_it_does_not_know_abstains(answer):
    assert abstains(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "No",
        "None",
        "No, she did not go.",
        "a sea opera",
        "Unknown Pleasures",
        "He was not available that day.",
        "She doesn't know how to swim.",
        "She does mention a sea opera.",
        "She could not find her keys.",
        "Not mentioned, but probably a sea opera.",
        "I don't know, perhaps a sea opera",
        "Not mentioned, but it was a sea opera.",
        "It is not mentioned. I think it was a sea opera.",
        "I don't have pets.",
        "She did not mention the move to Tom at first. " + "Then she told him all about the new flat. " * 6,
    ],
)
def test_a_claim_with_a_negation_in_it_does_not_abstain(answer):
    assert not abstains(answer)
