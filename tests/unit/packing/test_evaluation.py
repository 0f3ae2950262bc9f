"""Cross-fitting without leaks, and the numbers that are read from it."""

import numpy as np
import pytest

from memsif_ray.packing.actions import ACTIONS, Action
from memsif_ray.packing.crossfit import cross_fit
from memsif_ray.packing.evaluation import by_fit, compare, outcomes, plug_in_bound, policies_of, reliability
from memsif_ray.packing.features import PAPER, Features
from memsif_ray.packing.folds import partition, rotations
from memsif_ray.packing.ridge import ActionUtilityRidge
from memsif_ray.packing.transfer import transfer
from memsif_ray.packing.utilities import Instance, Outcome, Utilities, gather
from tests.unit.packing.planted import BUDGETS, planted


def small(values, budgets=None, fit=None):
    n = len(values)
    features = np.zeros((n, 11))
    features[:, PAPER.index("fit_fraction")] = np.zeros(n) if fit is None else fit
    names = [f"q{i}" for i in range(n)]
    return Utilities.of(names, budgets or [32] * n, features, values)


def test_no_question_has_two_roles_and_all_its_budgets_stay_together():
    questions = planted(0, questions=23).data.questions
    tested = []
    for roles in rotations(questions):
        parts = [set(questions[mask]) for mask in (roles.fit, roles.calibrate, roles.test)]
        assert sum(map(len, parts)) == 23 == len(set.union(*parts))
        assert (roles.fit.astype(int) + roles.calibrate + roles.test == 1).all()
        tested += parts[2]
    assert sorted(tested) == sorted(set(questions))


def test_outcomes_of_a_question_never_reach_its_own_prediction():
    """Turning the outcomes of the tested questions upside down changes nothing that is said about them."""
    data = planted(2, questions=40).data
    before = cross_fit(data)
    for k in range(5):
        tested = before.fold == k
        values = np.where(tested[:, None], 1 - data.values, data.values)
        turned = Utilities.of(data.questions, data.budgets, data.features, values)
        after = cross_fit(turned)
        assert (after.predicted[tested] == before.predicted[tested]).all()
        for name, chosen in before.chosen.items():
            assert (after.chosen[name][tested] == chosen[tested]).all(), name
        assert after.thresholds[k] == before.thresholds[k]


def test_the_learner_and_the_threshold_see_different_questions():
    seen = []

    class Watching(ActionUtilityRidge):
        def fit(self, X, y, groups=None):  # noqa: N803
            seen.append(set(groups))
            return super().fit(X, y, groups=groups)

        def predict(self, X):  # noqa: N803
            seen.append(len(X))
            return super().predict(X)

    data = planted(4, questions=20).data
    fitted = cross_fit(data, make=Watching)
    fits = [one for one in seen if isinstance(one, set)]
    assert [len(one) for one in fits] == [12] * 5
    for k, one in enumerate(fits):
        assert not one & set(data.questions[fitted.fold == k])
        assert not one & set(data.questions[fitted.fold == (k + 1) % 5])


def test_the_split_of_the_paper_is_disjoint_complete_and_stratified():
    questions = [f"q{i:03d}" for i in range(500)]
    strata = {name: "Kno" if i % 5 else "Temp" for i, name in enumerate(questions)}
    parts = partition(questions, strata=strata)
    assert [len(part) for part in parts] == [350, 75, 75]
    assert len(set().union(*parts)) == 500
    assert [sum(strata[name] == "Temp" for name in part) for part in parts] == [70, 15, 15]
    assert parts == partition(questions[::-1], strata=strata) != partition(questions, strata=strata, seed=1)
    with pytest.raises(ValueError, match="cannot fill"):
        partition(questions[:499])


def recovered(conditional, chosen):
    gained = conditional[np.arange(len(chosen)), chosen] - conditional[:, 0]
    return gained.sum() / (conditional.max(axis=1) - conditional[:, 0]).sum()


@pytest.mark.parametrize("seed", range(6))
def test_a_planted_crossover_is_found_and_calibration_does_no_more_harm(seed):
    """All 100 seeds: tests/benchmarks/planted_crossover.py."""
    case = planted(seed)
    fitted = cross_fit(case.data)
    assert recovered(case.conditional, fitted.chosen["router"]) >= 0.95
    rows = {(row.policy, row.budget): row for row in compare(case.data, policies_of(case.data, fitted))}
    for budget in (*BUDGETS, None):
        assert rows["router-safe", budget].harm <= rows["router", budget].harm
    assert rows["oracle", None].accuracy >= rows["router", None].accuracy > rows["retain", None].accuracy
    retained = [rows["router", budget].shares[0] for budget in BUDGETS]
    assert retained == sorted(retained) and retained[-1] > 0.5 > retained[0]


def test_realisations_are_averaged_before_anything_else():
    values = np.array([[[1, 0, 1], [0, 0, 0], [1, 1, 1], [np.nan, 1, 0]]])
    data = small(values)
    assert data.values.tolist() == [[pytest.approx(2 / 3), 0, 1, 0.5]]
    with pytest.raises(ValueError, match="stand twice"):
        Utilities.of(["q", "q"], [32, 32], np.zeros((2, 11)), np.zeros((2, 4)))
    with pytest.raises(ValueError, match="between 0 and 1"):
        small([[2, 0, 0, 0]])


def test_rows_of_a_labelling_job_become_utilities():
    seen = {name: Features(PAPER, (float(i),) * 11, "hash-64") for i, name in enumerate("ab")}
    instances = [Instance(name, 32, seen[name]) for name in "ba"]
    graded = [("a", "retain", 1), ("a", "retain", 0), ("a", "merge", None), ("b", "rewrite", 0.5)]
    outcomes = [Outcome(name, 32, Action(action), utility) for name, action, utility in graded]
    data = gather(instances, outcomes)
    assert data.questions.tolist() == ["b", "a"] and data.features[:, 0].tolist() == [1, 0]
    nan = np.nan
    assert np.array_equal(data.values, [[nan, nan, nan, 0.5], [0.5, nan, nan, nan]], equal_nan=True)
    assert (data.feature_set, data.embedder) == ("paper", "hash-64")
    with pytest.raises(ValueError, match="belongs to no instance"):
        gather(instances, [Outcome("a", 64, Action.MERGE, 1.0)])
    with pytest.raises(ValueError, match="2 kinds"):
        gather([*instances, Instance("c", 32, Features(PAPER, (0.0,) * 11, "other"))], [])


def test_policy_numbers_by_hand():
    data = small([[0, 1, 0, 0], [1, 0, 1, 1], [0.5, 0.5, 1, 0], [1, 1, 0, 1]])
    rows = {row.policy: row for row in compare(data, policies_of(data)) if row.budget == 32}
    merge, oracle = rows["merge"], rows["oracle"]
    assert (merge.n, merge.accuracy, merge.help, merge.harm) == (4, 0.625, 0.25, 0.25)
    assert merge.gain.mean == 0
    assert oracle.accuracy == 1 and oracle.shares == (0.5, 0.25, 0.25, 0) and oracle.harm == 0
    assert outcomes(data, np.array([1, 2, 3, 0])).tolist() == [1, 1, 0, 1]


def test_strata_of_fit():
    values = [[0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 1, 1], [0, 1, 1, 1]]
    rows = by_fit(small(values, fit=[0, 1, 1, 0.5]))
    table = {(row.stratum, row.action): row for row in rows}
    assert len(rows) == 3 * len(ACTIONS)
    assert table["none", "merge"].gain.mean == 1 and table["none", "merge"].gain.flag == "one_question"
    full = table["full", "abstract"]
    assert (full.n, full.accuracy, full.gain.mean) == (2, 0.5, -0.5)


def test_reliability_sorts_by_prediction():
    data = small([[0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
    rows = reliability(data, np.array([[0.1] * 4, [0.3] * 4, [0.7] * 4, [0.9] * 4]), bins=2)
    assert [(row.predicted, row.realised) for row in rows if row.action == "retain"] == [
        (pytest.approx(0.2), 0),
        (pytest.approx(0.8), 1),
    ]


def test_the_plug_in_bound_holds_and_is_tight():
    rng = np.random.default_rng(0)
    for _ in range(200):
        true = rng.random((20, 4))
        assert plug_in_bound(true, true + rng.uniform(-0.2, 0.2, true.shape)).holds
    worst = plug_in_bound([[0.5, 0.7]], [[0.6, 0.6]])  # a tie between predictions goes to retention
    assert (worst.epsilon, worst.worst_loss) == (pytest.approx(0.1), pytest.approx(0.2))


def test_the_independent_protocol_keeps_roles_apart_and_has_a_cap_of_its_own():
    case = planted(7, questions=120)
    data = case.data
    fit, calibrate, gate = partition(list(data.questions), (70, 25, 25))
    strict = transfer(data, fit=fit, calibrate=calibrate, gate=gate, max_harm=0.0)
    lenient = transfer(data, fit=fit, calibrate=calibrate, gate=gate, max_harm=0.5)
    assert {row.n for row in strict.rows} == {25}
    assert strict.harmful["router-safe"] <= lenient.harmful["router-safe"] <= lenient.harmful["router"]
    assert all(strict.thresholds[b] >= lenient.thresholds[b] for b in BUDGETS)
    with pytest.raises(ValueError, match="two roles"):
        transfer(data, fit=fit, calibrate=fit, gate=gate)
    # Outcomes on the gate decide nothing.
    gated = np.isin(data.questions, gate)
    turned = Utilities.of(
        data.questions, data.budgets, data.features, np.where(gated[:, None], 0.5, data.values)
    )
    again = transfer(turned, fit=fit, calibrate=calibrate, gate=gate, max_harm=0.0)
    assert again.thresholds == strict.thresholds
    shares = [[row.shares for row in one.rows if row.policy == "router"] for one in (strict, again)]
    assert shares[0] == shares[1]
