"""Ids that the world sees: a prefix, the key of the conversation, the number inside it."""

from __future__ import annotations

import re

from memsif_ray.errors import NotFound

_MEMORY = re.compile(r"mem_([0-9a-z]{1,64})_((?:core|active)_[0-9]{1,12})")
_OPERATION = re.compile(r"op_([0-9a-z]{1,64})_[0-9a-z]{1,64}")
KEY = re.compile(r"[0-9a-z]{4,64}")
"""What a key from outside, in a bundle, must look like."""


def memory_id(key: str, fact_id: str) -> str:
    """Of a fact of either track."""
    return f"mem_{key}_{fact_id}"


def segment_id(key: str, inner: str) -> str:
    """Of a Topical Segment."""
    return f"seg_{key}_{inner.removeprefix('seg_')}"


def trajectory_id(key: str, inner: str) -> str:
    """Of an Event Trajectory."""
    return f"trj_{key}_{inner.removeprefix('traj_')}"


def candidate_id(key: str, inner: str) -> str:
    """Of a candidate cluster."""
    return f"cand_{key}_{inner.removeprefix('cand_')}"


def operation_id(key: str, unique: str) -> str:
    """Of a write."""
    return f"op_{key}_{unique}"


def read_memory_id(given: str) -> tuple[str, str]:
    """The key of its conversation, and the fact's id inside that.

    Raises:
        NotFound: When nothing has such an id.
    """
    match = _MEMORY.fullmatch(given)
    if match is None:
        raise NotFound(f"no memory {given!r}")
    return match[1], match[2]


def read_operation_id(given: str) -> str:
    """The key of its conversation.

    Raises:
        NotFound: When nothing has such an id.
    """
    match = _OPERATION.fullmatch(given)
    if match is None:
        raise NotFound(f"no operation {given!r}")
    return match[1]
