"""Names of methods and groups, as a person gives them."""

import pytest

from memsif_ray.errors import ConfigError
from memsif_ray.methods import METHODS
from memsif_ray.methods.groups import ABLATIONS, BASELINES, CONTROLS, GROUPS, expand

KNOWN = {"memsif", *BASELINES, *ABLATIONS, *CONTROLS, "mem0:2026"}


def test_a_group_stands_for_its_members():
    assert expand(["all"], KNOWN) == ("memsif", *BASELINES, *ABLATIONS)
    assert len(BASELINES) == 10 and len(ABLATIONS) == 5
    assert expand(["controls"], KNOWN) == CONTROLS


def test_a_method_named_twice_is_run_once_and_order_is_kept():
    assert expand(["bm25", "baselines", "naive-rag", "mem0:2026"], KNOWN) == ("bm25", *BASELINES, "mem0:2026")


def test_every_unknown_name_is_in_one_error_with_what_it_may_have_been():
    with pytest.raises(ConfigError) as caught:
        expand(["memsif", "Mem0", "zzzzzz", "base-lines"], KNOWN)
    text = str(caught.value)
    assert "'Mem0'; did you mean mem0" in text
    assert "'base-lines'; did you mean baselines" in text
    assert "'zzzzzz'; `memsif methods` lists them" in text
    assert "'memsif'" not in text


@pytest.mark.parametrize("group", GROUPS)
def test_every_member_of_a_group_is_a_method(group):
    assert expand([group], METHODS) == GROUPS[group]
