"""`memsif keys` and `memsif tenants`: who may use a service that asks for keys."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from memsif_ray.cli.output import AsJson, note, print_result
from memsif_ray.cli.stores import Data, Store

if TYPE_CHECKING:
    from memsif_ray.service.keys import KeyRow, KeyStore

T = TypeVar("T")

app = typer.Typer(help="API keys of a memory service.", no_args_is_help=True)
Tenant = Annotated[str, typer.Argument(help="Whose memories.")]


@app.command()
def add(
    tenant: Tenant,
    name: Annotated[str, typer.Option("--name", help="What the key is for.")] = "",
    per_minute: Annotated[
        int | None,
        typer.Option("--per-minute", help="Requests it may make; by default the server's limit.", min=1),
    ] = None,
    data: Data = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Make a key, and the tenant if there is none. The key is shown once and cannot be read again."""

    async def added(keys: KeyStore) -> tuple[KeyRow, str]:
        if tenant not in await keys.tenants():
            await keys.add_tenant(tenant)
            note(f"made tenant {tenant}")
        return await keys.add_key(tenant, name=name, per_minute=per_minute)

    row, secret = _with_keys(added, data, store)
    print_result({**asdict(row), "secret": secret}, secret, as_json=as_json)


@app.command("list")
def list_(tenant: Tenant, data: Data = None, store: Store = None, as_json: AsJson = False) -> None:
    """A tenant's keys, revoked ones included; never their secrets."""
    rows = _with_keys(lambda keys: keys.keys(tenant), data, store)
    shown = "\n".join(map(_line, rows)) or f"no keys of {tenant}"
    print_result([asdict(row) for row in rows], shown, as_json=as_json)


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="As `memsif keys list` shows it.")],
    data: Data = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Refuse a key from now on."""
    _with_keys(lambda keys: keys.revoke(key_id), data, store)
    print_result({"revoked": key_id}, f"revoked {key_id}", as_json=as_json)


def tenants(data: Data = None, store: Store = None, as_json: AsJson = False) -> None:
    """Tenants of a memory service."""
    names = _with_keys(lambda keys: keys.tenants(), data, store)
    print_result(names, "\n".join(names) or "no tenants", as_json=as_json)


def _with_keys(do: Callable[[KeyStore], Awaitable[T]], data: Path | None, store: str | None) -> T:
    from memsif_ray.storage.sql import open_store
    from memsif_ray.storage.sql.location import store_url

    async def done() -> T:
        opened = await open_store(store_url(store, data))
        try:
            return await do(opened.api_keys)
        finally:
            await opened.close()

    return asyncio.run(done())


def _line(row: KeyRow) -> str:
    state = f"revoked {row.revoked_at:%Y-%m-%d}" if row.revoked_at else "valid"
    limit: Any = row.per_minute or "server's"
    return f"{row.key_id}  {state:18}  {limit} a minute  {row.name}"
