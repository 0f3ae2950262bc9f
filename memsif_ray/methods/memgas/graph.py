"""The mathematics of MemGAS: which nodes are joined, how granularities are weighed, how relevance spreads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, diags_array, eye_array
from scipy.sparse.linalg import spsolve
from scipy.special import entr, softmax
from sklearn.mixture import GaussianMixture

from memsif_ray.types import Matrix

Floats = NDArray[np.float64]


def joined(similarities: Floats, *, threshold: int, components: int) -> list[int]:
    """Which earlier nodes a new node is joined to: those of the mixture's component with the highest mean.

    Where fewer distinct similarities exist than components, nothing tells two groups apart and every
    candidate is joined.

    Args:
        similarities: To the earlier nodes, shape (n,).
        threshold: Only this many of the most similar ones are candidates.
        components: Of the Gaussian mixture.
    """
    candidates = np.argsort(-similarities, kind="stable")[:threshold]
    values = similarities[candidates].reshape(-1, 1)
    if len(np.unique(values)) < components:
        return sorted(int(i) for i in candidates)
    mixture = GaussianMixture(components, random_state=0).fit(values)
    best = int(np.argmax(mixture.means_))
    labels = mixture.predict(values)
    return sorted(int(i) for i, label in zip(candidates, labels, strict=True) if label == best)


def edges_between(nodes: Matrix, *, first: int, threshold: int, components: int) -> list[tuple[int, int]]:
    """Edges (later node, earlier node) of a conversation, its sessions arriving one by one.

    Args:
        nodes: Shape (sessions, granularities, dim); rows of NaN where a node is missing.
        first: Index of the first session whose nodes look for earlier ones.
        threshold: As in `joined`.
        components: As in `joined`.
    """
    width = nodes.shape[1]
    flat = nodes.reshape(-1, nodes.shape[2]).astype(np.float64)
    there = np.asarray(~np.isnan(flat).any(axis=1))
    found = []
    for node in range(first * width, len(flat)):
        earlier = np.flatnonzero(there[: node // width * width])
        if there[node] and earlier.size:
            picks = joined(flat[earlier] @ flat[node], threshold=threshold, components=components)
            found += [(node, int(earlier[pick])) for pick in picks]
    return found


def granularity_weights(similarities: Floats, *, temperature: float, normalised: bool) -> Floats:
    """(1 - H) / Σ (1 - H) per granularity, H the entropy in nats of softmax(similarity / temperature).

    As the official code has it, H is not normalised: when every H exceeds 1 both sides turn negative and the
    least certain granularity weighs most. `normalised` divides H by ln n, which is what the paper intends.
    Where the sum is 0, all granularities that have nodes weigh the same.

    Args:
        similarities: Shape (sessions, granularities); NaN where a node is missing.
        temperature: Of the softmax.
        normalised: Divide each entropy by its largest possible value.
    """
    certainties = np.array([_certainty(column, temperature, normalised) for column in similarities.T])
    there = ~np.isnan(certainties)
    total = certainties[there].sum()
    if np.isclose(total, 0):
        return np.asarray(there / max(1, there.sum()))
    return np.asarray(np.where(there, certainties, 0) / total)


def _certainty(column: Floats, temperature: float, normalised: bool) -> float:
    """1 - H; NaN without a node."""
    values = column[~np.isnan(column)]
    if not values.size:
        return np.nan
    entropy = entr(softmax(values / temperature)).sum()
    largest = np.log(len(values)) if normalised and len(values) > 1 else 1.0
    return float(1 - entropy / largest)


def seeds(scores: Floats, count: int) -> Floats:
    """The restart vector: the `count` best scores and what equals the last of them; 0 elsewhere and below.

    Args:
        scores: Of nodes, shape (n,); NaN where a node is missing.
        count: How many nodes may be seeds.
    """
    known = np.nan_to_num(scores, nan=0.0)
    cut = np.sort(known)[::-1][:count][-1]
    return np.where(known < cut, 0.0, np.maximum(known, 0.0))


def pagerank(edges: Sequence[tuple[int, int]], restart: Floats, *, damping: float) -> Floats:
    """Exact personalised PageRank on an undirected graph without weights; sums to 1.

    A walk that cannot leave a node without edges restarts, so the solution of (I - d·W) x = r is right up to
    its sum, W being the column-stochastic walk over the edges alone.

    Args:
        edges: Pairs of nodes.
        restart: Non-negative, not all 0, shape (n,).
        damping: d: probability of following an edge.
    """
    if not edges:
        return np.asarray(restart / restart.sum())
    ends = np.array(edges)
    rows, columns = np.concatenate([ends, ends[:, ::-1]]).T
    size = (len(restart), len(restart))
    adjacency = csc_array((np.ones(len(rows)), (rows, columns)), shape=size)
    degrees = np.maximum(adjacency.sum(axis=0), 1.0)
    walk = adjacency @ diags_array(1 / degrees)
    spread = spsolve((eye_array(len(restart)) - damping * walk).tocsc(), restart)
    return np.asarray(spread / spread.sum())
