"""Offline outcomes with a planted budget crossover: what is best is known, and a linear router can say it."""

from dataclasses import dataclass

import numpy as np

from memsif_ray.packing.features import PAPER
from memsif_ray.packing.utilities import Utilities

BUDGETS = (32, 64, 128, 256)


@dataclass(frozen=True, eq=False)
class Planted:
    """`data` holds what three noisy realisations showed; `conditional` the true mean utilities, (n, 4)."""

    data: Utilities
    conditional: np.ndarray


def planted(seed: int, questions: int = 150, realisations: int = 3) -> Planted:
    """Retention is best where the evidence fits, abstract or merge (by type) where it does not.

    Mean utilities are linear in the features: retention rises with the fit fraction, the others fall with it.
    """
    rng = np.random.default_rng(seed)
    notes = rng.integers(1, 7, questions)
    cost = np.maximum(12, rng.lognormal(np.log(35.0), 0.5, questions) * notes)
    kind = rng.integers(0, 4, questions)
    q = np.repeat(np.arange(questions), len(BUDGETS))
    budget = np.tile(BUDGETS, questions)
    fit = np.floor(np.clip(budget / cost[q], 0, 1) * notes[q]) / notes[q]
    columns = {
        "budget_512": budget / 512,
        "notes": notes[q],
        "cost_per_budget": cost[q] / budget,
        "fit_fraction": fit,
        "sessions": np.minimum(notes, rng.integers(1, 4, questions))[q],
        "spread": rng.uniform(0.1, 0.7, questions)[q],
        "mean_cosine": rng.uniform(0.2, 0.9, questions)[q],
    }
    one_hot = np.eye(4)[kind[q]]
    features = np.column_stack([*columns.values(), one_hot])
    assert features.shape[1] == len(PAPER)
    distributed = one_hot[:, 1] + one_hot[:, 2]
    conditional = np.column_stack(
        [
            0.05 + 0.85 * fit,
            0.62 - 0.12 * fit - 0.25 * distributed,
            0.38 - 0.10 * fit + 0.28 * distributed,
            0.30 + 0.05 * fit,
        ]
    )
    drawn = rng.random((*conditional.shape, realisations)) < conditional[..., None]
    names = np.array([f"q{number:03d}" for number in range(questions)])
    return Planted(Utilities.of(names[q], budget, features, drawn, embedder="hash-64"), conditional)
