from __future__ import annotations

import pytest

from analysis.report.study import read_runs, studies
from tests.unit.analysis.conftest import small_run


@pytest.mark.parametrize(
    ("configs", "labels"),
    [
        ([{"a": {"alpha": 0.4}}, {"a": {"alpha": 0.8}}], ["alpha=0.4", "alpha=0.8"]),
        # Two keys that end alike keep their whole names.
        ([{"a": {"k": 1}, "b": {"k": 1}}, {"a": {"k": 2}, "b": {"k": 1}}], ["k=1", "k=2"]),
        ([{"a": {"k": 1}, "b": {"k": 1}}, {"a": {"k": 2}, "b": {"k": 2}}], ["a.k=1, b.k=1", "a.k=2, b.k=2"]),
        # Speed, place and choice of methods and data tell nothing of how a method works.
        ([{"methods": ["x"], "execution": {"shards": 1}}, {"data": {"limit": 3}}], ["run0", "run1"]),
        ([{k: 0 for k in "abcd"}, {k: 1 for k in "abcd"}], ["run0", "run1"]),
        ([{"a": 1}, {"a": 1}, {"a": 2}], ["run0", "run1", "run2"]),
    ],
)
def test_what_sets_runs_apart_names_them(write_run, configs, labels):
    paths = [write_run(f"run{n}", {}, config) for n, config in enumerate(configs)]
    assert [run.label for run in read_runs(paths)] == labels


def test_only_a_method_of_several_runs_gets_a_longer_name(write_run):
    paths = [
        write_run("one", small_run({"memsif": "r", "bm25": "r"}), {"alpha": 0.4}),
        write_run("two", small_run({"memsif": "w", "memsif:no-ts": "w"}), {"alpha": 0.8}),
    ]
    (study,) = studies(read_runs(paths), profile="memsif", reference="memsif")
    assert study.methods == ("memsif [alpha=0.4]", "memsif [alpha=0.8]", "memsif:no-ts", "bm25")
    assert set(study.table("answers").collect()["method"]) == set(study.methods)


def test_a_run_without_configuration_or_tables_is_empty(tmp_path):
    (run,) = read_runs([tmp_path])
    assert (run.methods, run.datasets, run.config, run.manifest) == ((), (), {}, {})
