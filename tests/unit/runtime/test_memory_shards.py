"""Whose a conversation is, without Ray."""

from collections import Counter

from memsif_ray.runtime.memory_lines import _REPEATABLE
from memsif_ray.runtime.memory_shards import Shards, ShardsConfig, shard_of
from memsif_ray.service.backend import Backend


def test_the_owner_is_the_same_for_ever():
    # Computed once with sha256sum; a change would send conversations to strangers during an upgrade.
    owners = [shard_of("ann", f"talk {n}", 8) for n in range(6)]
    assert owners == [6, 2, 5, 6, 1, 1]
    assert shard_of("a", "bc", 1_000_003) != shard_of("ab", "c", 1_000_003)


def test_conversations_are_spread_evenly():
    loads = Counter(shard_of("ann", f"conversation-{n}", 4) for n in range(4_000))
    assert set(loads) == {0, 1, 2, 3}
    assert min(loads.values()) > 900


def test_shards_of_another_configuration_have_other_names():
    one, other = ShardsConfig(store="sqlite:///a.db"), ShardsConfig(store="sqlite:///b.db")
    assert Shards(one).name(0) == Shards(one.model_copy()).name(0) != Shards(other).name(0)
    assert "sqlite" not in Shards(one).name(0)


def test_only_what_changes_nothing_or_has_a_key_is_sent_again():
    methods = {name for name in vars(Backend) if not name.startswith("_")}
    assert methods >= _REPEATABLE
    changing = {"answer", "change", "supersede", "retract", "restore", "erase_memory"}
    changing |= {"erase_conversation", "cancel", "retry", "import_"}
    assert not changing & _REPEATABLE
    assert methods - _REPEATABLE - changing == {"check", "close"}
