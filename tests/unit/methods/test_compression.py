"""What attention says of neighbouring texts, by hand; the compressor itself needs its package and weights."""

import numpy as np

from memsif_ray.methods.lightmem.compression import share_of_neighbour

# Tokens 0 and 1 are the first text, 2 the second, 3 and 4 the third.
WEIGHTS = np.array(
    [
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [0.5, 0.5, 0.0, 0.0, 0.0],
        [0.2, 0.2, 0.6, 0.0, 0.0],
        [0.1, 0.2, 0.3, 0.4, 0.0],
        [0.0, 0.1, 0.5, 0.2, 0.2],
    ]
)


def test_the_share_of_the_nearest_text():
    first, second, third = range(0, 2), range(2, 3), range(3, 5)
    # To the first text 0.3 + 0.1, to the second 0.3 + 0.5.
    assert np.isclose(share_of_neighbour(WEIGHTS, [first, second, third]), 0.8 / 1.2)
    assert share_of_neighbour(WEIGHTS, [first, second]) == 1.0


def test_a_text_without_tokens_pays_and_gets_nothing():
    assert share_of_neighbour(WEIGHTS, [range(0, 2), range(2, 2), range(3, 5)]) == 0.0
    assert share_of_neighbour(WEIGHTS, [range(0, 2), range(2, 3), range(5, 5)]) == 0.0
