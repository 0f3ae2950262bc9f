"""In which order an application ends: Ray Serve tells all of its deployments at once."""

import asyncio
import time
from dataclasses import dataclass

import ray
from ray import serve

_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Deployment:
    """One of an application.

    Attributes:
        grace_s: How long its replicas may take to end.
    """

    name: str
    grace_s: float


async def await_end(deployment: Deployment) -> None:
    """Called in a replica that is to end: wait until those of another deployment, which need it, have ended.

    Those that are there now: what a new version of the application starts meanwhile does not count. After
    their time of grace the wait is over in any case.
    """
    prefix = _prefix(deployment.name)
    until = time.monotonic() + deployment.grace_s
    waited_for = await asyncio.to_thread(_replicas, prefix)
    while waited_for and time.monotonic() < until:
        await asyncio.sleep(_POLL_S)
        waited_for &= await asyncio.to_thread(_replicas, prefix)


def _prefix(deployment: str) -> str:
    """Of the names of its actors; Serve's own list leaves out what is being deleted."""
    here = serve.get_replica_context()
    own = here.replica_id.to_full_id_str()
    return own.removesuffix(f"{here.deployment}#{here.replica_id.unique_id}") + f"{deployment}#"


def _replicas(prefix: str) -> set[str]:
    named = ray.util.list_named_actors(all_namespaces=True)
    return {actor["name"] for actor in named if actor["name"].startswith(prefix)}
