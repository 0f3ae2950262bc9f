"""The three estimators: scikit-learn's own contract, hand-computed weights, and degenerate data."""

import warnings

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from memsif_ray.packing.mlp import ActionUtilityMLP
from memsif_ray.packing.network import loss_and_gradient, new_layers
from memsif_ray.packing.ridge import ActionUtilityRidge
from memsif_ray.packing.safety import ABSTAIN, SafetyThreshold
from tests.unit.packing.planted import planted

QUICK_MLP = ActionUtilityMLP(widths=(4,), decays=(0.01,), max_epochs=20)


@pytest.mark.parametrize("estimator", [ActionUtilityRidge(), QUICK_MLP, SafetyThreshold()])
def test_the_contract_of_scikit_learn_holds(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one says which optional check was skipped
        check_estimator(estimator)


def test_weights_on_degenerate_columns_are_the_hand_computed_ones():
    # Without the 1/n of the paper's objective, λ = 1 on these four rows is λ = 1/4 with it.
    learner = ActionUtilityRidge(lambdas=(0.25,)).fit(
        [[1, 0, 3], [2, 0, 3], [3, 0, 3], [4, 0, 3]], [1, 2, 3, 4]
    )
    assert learner.standard_coef_[0] == pytest.approx([0.894427191, 0, 0])
    assert learner.standard_coef_[0][1:].tolist() == [0, 0]
    assert learner.constant_features_.tolist() == [1, 2]
    assert learner.predict([[2.5, 0, 3]]) == pytest.approx([2.5])  # the intercept of standardised columns
    assert learner.predict([[2.5, 9, 9]]) == pytest.approx([2.5])


def test_one_row_and_a_constant_target_give_numbers():
    assert ActionUtilityRidge().fit([[1.0, 2.0]], [[0.5, 1.0]]).predict([[7, 7]]).tolist() == [[0.5, 1.0]]
    constant = ActionUtilityRidge().fit([[1.0], [2.0], [5.0]], [0.3, 0.3, 0.3])
    assert constant.predict([[100.0]]) == pytest.approx([0.3])


def test_the_intercept_is_not_penalised():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    learner = ActionUtilityRidge(lambdas=(1e9,)).fit(rows, np.full(50, 0.8) + 0.001 * rows[:, 0])
    assert learner.predict(rows).mean() == pytest.approx(0.8, abs=1e-3)


@pytest.mark.parametrize("make", [ActionUtilityRidge, lambda: QUICK_MLP])
def test_the_order_of_rows_changes_no_weight(make):
    data = planted(3, questions=40).data
    order = np.random.default_rng(1).permutation(len(data))
    for groups in (data.questions, None):
        one = make().fit(data.features, data.values, groups=groups)
        ours = one.predict(data.features)
        shuffled = None if groups is None else groups[order]
        other = make().fit(data.features[order], data.values[order], groups=shuffled)
        assert np.abs(ours - other.predict(data.features)).max() < 1e-9


def test_lambda_is_chosen_by_folds_that_keep_groups_whole():
    """A feature that only names its group predicts nothing of another: grouped folds see that."""
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(12), 6)
    names = np.eye(12)[groups] + rng.normal(0, 0.01, (72, 12))
    utility = np.clip(np.repeat(rng.random(12), 6) + rng.normal(0, 0.02, 72), 0, 1)
    alone = ActionUtilityRidge().fit(names, utility)
    grouped = ActionUtilityRidge().fit(names, utility, groups=groups)
    assert grouped.lambda_ > 10 * alone.lambda_


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_gradients_are_the_numerical_ones(decay):
    rng = np.random.default_rng(0)
    layers = [(weights, bias + 0.1) for weights, bias in new_layers(5, 4, 3, rng=rng)]
    rows, targets = rng.normal(size=(7, 5)), rng.random((7, 3))
    _, gradient = loss_and_gradient(layers, rows, targets, decay=decay)
    for layer, slopes in zip(layers, gradient, strict=True):
        for part, slope in zip(layer, slopes, strict=True):
            for place in np.ndindex(part.shape):
                kept, ends = part[place], []
                for step in (1e-6, -1e-6):
                    part[place] = kept + step
                    ends.append(loss_and_gradient(layers, rows, targets, decay=decay)[0])
                part[place] = kept
                assert slope[place] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-8)


def test_the_network_learns_what_no_line_can_and_stops_early_on_noise():
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (200, 2))
    either = ((rows[:, 0] > 0) != (rows[:, 1] > 0)).astype(float)
    learner = ActionUtilityMLP(widths=(16,), decays=(0.0,)).fit(rows, either)
    ridge = ActionUtilityRidge().fit(rows, either)
    assert (
        np.square(learner.predict(rows) - either).mean()
        < 0.1
        < np.square(ridge.predict(rows) - either).mean()
    )
    noise = ActionUtilityMLP(widths=(16,), decays=(0.0,)).fit(rng.normal(size=(60, 8)), rng.random(60))
    assert noise.epochs_ < 50


def fitted(advantages, gains, max_harm=0.0, budgets=None):
    predicted = np.column_stack([np.zeros(len(advantages)), advantages])
    return SafetyThreshold(max_harm).fit(predicted, gains, budgets=budgets).thresholds_


def test_a_threshold_allows_no_observed_harm_and_otherwise_gains_most():
    advantages, gains = [0.5, 0.4, 0.3, 0.2, 0.1], [1, 0, 1, -1, 1]
    assert fitted(advantages, gains) == {0: 0.3}
    assert fitted(advantages, gains, max_harm=0.2) == {0: 0.3}  # 0.1 gains no more than 0.3: the larger
    assert fitted(advantages, [1, 0, 1, -1, 2], max_harm=0.2) == {0: 0.1}
    assert fitted(advantages, [1, 0, 0, 0, 0]) == {0: 0.5}  # a tie goes to the larger threshold
    assert fitted(advantages, [-1, 1, 1, 1, 1]) == {0: ABSTAIN}
    assert fitted(advantages, [0, 0, 0, 0, 0]) == {0: ABSTAIN}
    assert fitted([-0.1, -0.2], [1, 1]) == {0: ABSTAIN}  # there the router itself retains


def test_equal_advantages_stand_or_fall_together():
    assert fitted([0.4, 0.4, 0.5], [1, -1, 1]) == {0: 0.5}


def test_each_budget_has_its_own_threshold_and_an_unknown_one_abstains():
    budgets = [32, 32, 64, 64]
    rule = SafetyThreshold().fit([[0, 0.4], [0, 0.2], [0, 0.4], [0, 0.2]], [1, -1, 1, 1], budgets=budgets)
    assert rule.thresholds_ == {32: 0.4, 64: 0.2}
    asked = rule.predict([[0, 0.3], [0, 0.3], [0, 0.3], [0.5, 0.4]], budgets=[32, 64, 128, 64])
    assert asked.tolist() == [0, 1, 0, 0]
