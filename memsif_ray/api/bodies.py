"""JSON that is what it seems: one reading, bounded, and no say about the tenant."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from memsif_ray.api.errors import ApiError

_TENANT_WORDS = frozenset({"tenant", "tenant_id"})
_DIGITS = 19


class StrictRequest(Request):
    """A request whose JSON is UTF-8, of bounded depth, without NaN, huge numbers or repeated keys."""

    async def json(self) -> Any:
        """The parsed body.

        Raises:
            ApiError: 422 when it is not such JSON; 403 when it names a tenant.
        """
        if not hasattr(self, "_json"):
            self._json = read(await self.body(), max_depth=self.app.state.settings.max_json_depth)
            refuse_tenant(self._json)
        return self._json


def read(body: bytes, *, max_depth: int) -> Any:
    """Parse strictly.

    Raises:
        ApiError: Saying what is wrong, without quoting the body.
    """
    try:
        value = json.loads(
            body.decode(),
            parse_constant=_no_number,
            parse_float=_finite,
            parse_int=_bounded,
            object_pairs_hook=_unique,
        )
    except UnicodeDecodeError:
        raise ApiError(422, "invalid_json", "the body is not UTF-8") from None
    except json.JSONDecodeError as exc:
        raise ApiError(422, "invalid_json", f"the body is not JSON: {exc.msg} at {exc.pos}") from None
    except ValueError as exc:
        raise ApiError(422, "invalid_json", str(exc)) from None
    except RecursionError:
        raise _too_deep(max_depth) from None
    if _is_deeper(value, max_depth):
        raise _too_deep(max_depth)
    return value


def refuse_tenant(value: Any) -> None:
    """The tenant comes from the credential; a request that names one is confused, or an attack.

    Raises:
        ApiError: 403.
    """
    named = _TENANT_WORDS.intersection(value) if isinstance(value, dict) else None
    if named:
        message = "the API key says whose memory this is; leave the tenant out"
        raise ApiError(403, "tenant_not_accepted", message, param=min(named))


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _bounded(digits: str) -> int:
    if len(digits.lstrip("-")) > _DIGITS or not -(2**63) <= int(digits) < 2**63:
        raise ValueError("a number is too large")
    return int(digits)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _too_deep(max_depth: int) -> ApiError:
    return ApiError(422, "invalid_json", f"the body is nested deeper than {max_depth}")


def _is_deeper(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True


class StrictRoute(APIRoute):
    """A route that reads bodies strictly and refuses query parameters that it does not know.

    A misspelt `dry_run` that is silently ignored would delete.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, behind the checks."""
        handle = super().get_route_handler()
        known = _query_names(self)

        async def strictly(request: Request) -> Response:
            refuse_tenant(dict(request.query_params))
            unknown = sorted(set(request.query_params) - known)
            if unknown:
                raise ApiError(422, "invalid_request", f"{unknown[0][:50]!r} is no parameter of this")
            return await handle(StrictRequest(request.scope, request.receive))

        return strictly


def _query_names(route: APIRoute) -> frozenset[str]:
    pending, names = [route.dependant], set[str]()
    while pending:
        dependant = pending.pop()
        names.update(param.alias for param in dependant.query_params)
        pending.extend(dependant.dependencies)
    return frozenset(names)
