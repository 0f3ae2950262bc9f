"""How much of a planted budget crossover the cross-fitted routers recover, over many seeds.

    python -m tests.benchmarks.planted_crossover 100

Gains are of conditional utilities; routers are trained on the mean of three Bernoulli realisations.
"""

import sys

import numpy as np

from memsif_ray.packing.crossfit import cross_fit
from memsif_ray.packing.evaluation import outcomes
from tests.unit.packing.planted import planted


def main(seeds: int) -> None:
    """Print the recovered share of the oracle's gain over retention, and the realised harm."""
    recovered, harm = {"router": [], "router-safe": []}, {"router": [], "router-safe": []}
    for seed in range(seeds):
        case = planted(seed)
        fitted = cross_fit(case.data)
        best = (case.conditional.max(axis=1) - case.conditional[:, 0]).sum()
        for name in recovered:
            chosen = fitted.chosen[name]
            gained = case.conditional[np.arange(len(chosen)), chosen] - case.conditional[:, 0]
            recovered[name].append(gained.sum() / best)
            harm[name].append((outcomes(case.data, chosen) < case.data.values[:, 0]).mean())
    for name, shares in recovered.items():
        print(
            f"{name:12} recovers {np.mean(shares):.1%} of the gain (worst seed {np.min(shares):.1%}), "
            f"harm {np.mean(harm[name]):.1%}"
        )
    more = sum(safe > free for safe, free in zip(harm["router-safe"], harm["router"], strict=True))
    print(f"calibrated router with more harm than the uncalibrated: {more} of {seeds} seeds")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
