"""Tenants and their keys, in both databases."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from memsif_ray.errors import Conflict, DataError, NotFound
from memsif_ray.service.keys import KeyStore
from memsif_ray.storage.sql import SqlStore, open_store
from tests.unit.storage.sql.conftest import NOW


async def test_a_secret_leads_to_its_key(store: SqlStore) -> None:
    keys: KeyStore = store.api_keys
    await keys.add_tenant("acme")
    row, secret = await keys.add_key("acme", name="laptop", per_minute=60)
    other, other_secret = await keys.add_key("acme", name="laptop")
    assert secret.startswith(f"msk_{row.key_id}_")
    assert (row.tenant, row.per_minute, row.created_at, row.revoked_at) == ("acme", 60, NOW, None)
    assert await keys.key_of(secret) == row
    assert await keys.key_of(other_secret) == other
    assert {key.key_id for key in await keys.keys("acme")} == {row.key_id, other.key_id}
    assert await keys.keys("other") == []


async def test_anything_else_leads_nowhere(store: SqlStore) -> None:
    await store.api_keys.add_tenant("acme")
    row, secret = await store.api_keys.add_key("acme", name="a")
    _, other = await store.api_keys.add_key("acme", name="b")
    mixed = f"msk_{row.key_id}_{other.rpartition('_')[2][:43]:x<43}"
    swapped = secret[:-1] + ("A" if secret[-1] != "A" else "B")
    wrong = ["", "*", row.key_id, secret[:-1], secret + "x", secret.upper(), f" {secret}", swapped, mixed]
    for text in [*wrong, "msk_" + "0" * 16 + "_" + "A" * 43, "\0", "\ud800", "ключ", secret + "\n"]:
        assert await store.api_keys.key_of(text) is None


async def test_a_revoked_key_says_since_when(store: SqlStore) -> None:
    await store.api_keys.add_tenant("acme")
    row, secret = await store.api_keys.add_key("acme", name="a")
    await store.api_keys.revoke(row.key_id)
    await store.api_keys.revoke(row.key_id)
    revoked = await store.api_keys.key_of(secret)
    assert revoked is not None
    assert revoked.revoked_at == NOW
    with pytest.raises(NotFound):
        await store.api_keys.revoke("absent")


async def test_tenants_have_names_of_their_own(store: SqlStore) -> None:
    await store.api_keys.add_tenant("b")
    await store.api_keys.add_tenant("a")
    assert await store.api_keys.tenants() == ["a", "b"]
    with pytest.raises(Conflict):
        await store.api_keys.add_tenant("a")
    for wrong in ("", "*", "a*", "a\nb", "a\0", "x" * 201):
        with pytest.raises(DataError):
            await store.api_keys.add_tenant(wrong)
    with pytest.raises(NotFound):
        await store.api_keys.add_key("absent", name="a")


async def test_a_secret_is_neither_stored_nor_logged(
    sqlite_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    store = await open_store(sqlite_url)
    await store.api_keys.add_tenant("acme")
    row, secret = await store.api_keys.add_key("acme", name="a")
    await store.api_keys.key_of(secret)
    random_part = secret.removeprefix(f"msk_{row.key_id}_")
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert row.key_id.encode() in kept
    for part in (random_part, random_part[-6:]):
        assert part.encode() not in kept
        assert part not in caplog.text
    await store.close()
