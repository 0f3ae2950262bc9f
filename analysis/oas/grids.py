"""Packing policies as tables: accuracy and gain by budget, strata of fit, shares of actions, thresholds."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.oas.study import MLP, OasStudy
from analysis.page import Grid, Marked
from memsif_ray.packing.actions import ACTIONS
from memsif_ray.packing.evaluation import STRATA, PolicyRow, StratumRow
from memsif_ray.statistics.differences import Difference

NONE = "–"
_LEARNED = ("best-fixed", "best-per-budget", "router", "router-safe", MLP)
_DECIDING = ("router", "router-safe", MLP, "oracle")
_INFERENCE = (
    "Percentage points over retention; 95 % percentile bootstrap of questions and two-sided sign-flip test, "
    "both on outcomes averaged over realisations."
)


def accuracy_grid(rows: Sequence[PolicyRow], name: str, title: str) -> Grid:
    """Policies by budget; the best of each column but the oracle is bold."""
    budgets = list(dict.fromkeys(row.budget for row in rows))
    by_place = {(row.policy, row.budget): row for row in rows}
    policies = list(dict.fromkeys(row.policy for row in rows))
    best = {
        budget: max(by_place[policy, budget].accuracy for policy in policies if policy != "oracle")
        for budget in budgets
    }
    cells = [
        (
            policy,
            *(
                _accuracy(by_place[policy, budget], best=best[budget] if policy != "oracle" else None)
                for budget in budgets
            ),
        )
        for policy in policies
    ]
    questions = ", ".join(f"{_budget(budget)}: {by_place[policies[0], budget].n}" for budget in budgets)
    told = (
        f"Mean utility in %. Questions: {questions}. The oracle sees the outcomes. Learned policies never "
        "saw the questions they are judged on."
    )
    return Grid(name, title, ("policy", *map(_budget, budgets)), cells, told)


def gain_grid(rows: Sequence[PolicyRow], name: str, title: str) -> Grid:
    """Every policy at every budget: gain over retention, help and harm."""
    cells = [
        (
            row.policy,
            _budget(row.budget),
            percent(row.accuracy),
            gain_cell(row.gain),
            p_cell(row.gain),
            percent(row.help),
            percent(row.harm),
        )
        for row in rows
        if row.policy != ACTIONS[0]
    ]
    header = ("policy", "B", "acc", "gain [95 %]", "p", "help", "harm")
    return Grid(
        name, title, header, cells, f"{_INFERENCE} Help and harm: % of instances that did better, worse."
    )


def share_grid(rows: Sequence[PolicyRow], name: str, title: str) -> Grid:
    """What the deciding policies chose."""
    cells = [
        (row.policy, _budget(row.budget), *map(percent, row.shares))
        for row in rows
        if row.policy in _DECIDING
    ]
    return Grid(name, title, ("policy", "B", *ACTIONS), cells, "% of instances.")


def stratum_grid(rows: Sequence[StratumRow]) -> Grid:
    """Each operator's gain, apart by how much of the evidence retention packs."""
    places = list(dict.fromkeys((row.budget, row.stratum) for row in rows))
    found = {(row.budget, row.stratum, row.action): row for row in rows}
    cells = []
    for budget, stratum in places:
        retain, *others = (found[budget, stratum, action] for action in ACTIONS)
        gains = (gain_cell(row.gain) for row in others)
        cells.append((str(budget), stratum, str(retain.n), percent(retain.accuracy), *gains))
    header = ("B", "fits", "n", *map(str, ACTIONS))
    told = (
        f"Fits: {', '.join(STRATA)} of the candidates, by retention (f = 0, between, f = 1); a stratum "
        f"without a question has no row. Mean utility of retain in %; of the others the gain. {_INFERENCE}"
    )
    return Grid("oas-strata", "Gain by how much of the evidence fits", header, cells, told)


def threshold_grid(study: OasStudy) -> Grid | None:
    """The safe thresholds of every rotation, and of the router that is kept."""
    if study.fitted is None:
        return None
    rows = [
        (f"rotation {k + 1}", *(_threshold(found.get(budget)) for budget in study.budgets))
        for k, found in enumerate(study.fitted.thresholds)
    ]
    kept = study.router.thresholds
    rows.append(("kept router", *(_threshold(kept.get(budget)) for budget in study.budgets)))
    told = "Least predicted advantage at which a generative action is allowed; never: all were seen to harm."
    return Grid("oas-thresholds", "Safe thresholds", ("", *map(str, study.budgets)), rows, told)


def reliability_grid(study: OasStudy) -> Grid | None:
    """Predicted against realised utility, in fifths of the predictions."""
    rows = [
        (str(row.action), str(row.n), percent(row.predicted), percent(row.realised))
        for row in study.calibration
    ]
    header = ("action", "n", "predicted", "realised")
    return Grid("oas-reliability", "Router calibration", header, rows, "Cross-fitted.") if rows else None


def mlp_grid(study: OasStudy) -> Grid | None:
    """The nonlinear control beside ridge."""
    rows = [(_budget(budget), gain_cell(gain), p_cell(gain)) for budget, gain in study.mlp_gains.items()]
    told = "MLP minus ridge, both unconstrained and cross-fitted over the same folds."
    return Grid("oas-mlp", "Nonlinear control", ("B", "gain [95 %]", "p"), rows, told) if rows else None


def gain_cell(gain: Difference) -> str:
    """Points with their interval, or why there is none."""
    if gain.mean is None:
        return NONE
    point = f"{100 * gain.mean:+.1f}"
    if gain.flag:
        return f"{point} ({gain.flag.replace('_', ' ')})"
    return f"{point} [{100 * (gain.low or 0):+.1f}, {100 * (gain.high or 0):+.1f}]"


def p_cell(gain: Difference) -> str:
    """A p value; those below 0.001 are not told apart."""
    if gain.p_value is None:
        return NONE
    return "<0.001" if gain.p_value < 0.001 else f"{gain.p_value:.3f}"


def percent(value: float | None) -> str:
    """In %, or a dash."""
    return NONE if value is None else f"{100 * value:.1f}"


def _accuracy(row: PolicyRow, *, best: float | None) -> str | Marked:
    text = percent(row.accuracy)
    return Marked(text, "best") if best is not None and row.accuracy >= best - 1e-12 else text


def _threshold(value: float | None) -> str:
    return "never" if value is None or value == float("inf") else f"{value:.3f}"


def _budget(budget: int | None) -> str:
    return "mean" if budget is None else str(budget)
