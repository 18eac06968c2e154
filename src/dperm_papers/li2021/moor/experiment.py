r"""Figure 3 of li2021: how far the floor takes an estimate from the lasso, with MOOR and without.

Nothing here is private: b = 0 (Section 5.1), except in the rows `same-b`. Data as in Table 4 (`designs`), the limit
n_e -> infinity, Lambda0 = zeta3/epsilon. Metric `distance`: ||theta - lasso(k Lambda)||_2 with k = 1 or 2 (the column
`reference`), its `_mean` and `_half` over the `runs` that converged: what the reweighting reaches without a floor is a
lasso with 2 Lambda (erratum N6). lasso(Lambda) minimises the sum of losses plus Lambda ||theta||_1. Metric `gain`, of
the published estimates: logarithm of the distance without MOOR over that with it.

    figure      calibration `paper`: the penalties 2 berHu(.; Lambda, Lambda0) with MOOR (variant `erm-moor`),
                2 Lambda|.| + Lambda0 (.)^2 without (`erm`).
                `corrected`: Lambda instead of 2 Lambda, and MOOR where the proof of privacy allows it, which is an
                elastic net with Lambda kappa >= Lambda0 (erratum N4): kappa = Lambda0/Lambda, the least one.
                `erm`        Lambda|.| + Lambda0 (.)^2, the existing DP-ERM of the lasso,
                `erm-moor`   the elastic net with MOOR: max{Lambda kappa, Lambda0} = Lambda0,
                `erm-net`    the elastic net without: Lambda|.| + (Lambda kappa + Lambda0) (.)^2.
                kappa is below 1: where Lambda <= Lambda0 there are no rows of the last two (`sound` is False).
    no-b        Equation 2 at b = 0 with the floor and without one (the column `floored`): what the floor itself costs.
                `paper`: 2 Lambda|.|, which the reweighting reaches; `corrected`: Lambda|.|, Equation 2 as printed.
    same-b      the same with Equation 2's b (Gaussian noise), the same b with the floor and without.

Every fit is in [-100, 100]^16, far from where the lassos are: without a floor logistic losses with noise may have no
minimum, and the box stands for infinity there. Distances below `LEAST` count as that: the certificates leave them open.
`informative` is False at points where all of the estimates compared are 0 in every repeat.

Column `zeta`: which bounds stand for those that li2021 does not print (`designs.bounded`): `range` with all repeats,
the others with the first `side_repeats`, as published alone. Lambda0 and b are proportional to them; at b = 0 those of
the Poisson design alone make a difference, for zeta3 is 1 in the others under each.

Neighbours: add/remove, where b is calibrated.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dperm.domain import Budget
from dperm.mechanisms.napp import limit, noise
from dperm.mechanisms.napp.scheme import Scheme
from dperm_papers.li2021.shared import designs, measures
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

REFERENCES = (1, 2)
# Below this a distance is the solver's.
LEAST = 1e-4
_BOX = (-100.0, 100.0)
# A scheme has a floor; where there is to be none, `floors` of 0 takes its place.
_UNFLOORED = Scheme("lasso", 1.0, moor=False)


@dataclass(frozen=True)
class _Fits:
    """Estimates, shape (R, L, p), and whether they are certified, shape (R, L)."""

    theta: np.ndarray
    ok: np.ndarray

    def at(self, places: np.ndarray) -> "_Fits":
        return _Fits(self.theta[:, places], self.ok[:, places])

    def first(self, count: int) -> "_Fits":
        return _Fits(self.theta[:count], self.ok[:count])


@dataclass(frozen=True)
class _Task:
    """The data of some repeats, the grid of Lambda, and the solver's tolerance."""

    data: limit.Problems
    strengths: np.ndarray
    tolerance: float

    @property
    def still(self) -> np.ndarray:
        """Return b = 0."""
        return np.zeros((self.data.X.shape[0], self.data.X.shape[2]))

    def fit(self, b: np.ndarray, scheme: Scheme, *, floored: bool = True, places: np.ndarray | None = None) -> _Fits:
        strengths = self.strengths if places is None else self.strengths[places]
        found = limit.path(
            self.data, b, scheme, strengths, variant="erm", box=_BOX, tolerance=self.tolerance,
            floors=None if floored else np.zeros((len(b), len(strengths))),
        )  # fmt: skip
        return _Fits(found.theta, found.converged)


def run(cell: Cell, rows: Rows) -> None:
    """Measure one design; columns strength, floor (Lambda0), floored, row, reference, informative, sound, zeta."""
    settings, name = cell.settings, cell.point["design"]
    design, strengths = designs.find(name), np.geomspace(*settings.strengths, settings.steps)
    X, y = designs.training(cell.seed, cell.experiment, name, settings.repeats)
    few = min(settings.side_repeats, settings.repeats)
    whole, side = (
        _Task(limit.problems(design.loss, X[:count], y[:count]), strengths, settings.tolerance)
        for count in (settings.repeats, few)
    )
    lassos = {k: whole.fit(whole.still, replace(_UNFLOORED, halved=k == 1), floored=False) for k in REFERENCES}
    for zeta, epsilon in itertools.product(("range", *settings.side_zetas), settings.epsilons):
        own = designs.bounded(design, zeta)
        bounds = noise.Bounds(own.zeta1, own.zeta2, own.zeta3)
        floor = noise.floor(bounds, epsilon, settings.budget_share)
        here = rows.at(epsilon=epsilon, delta=0.0, floor=floor, floored=True, row="figure", sound=True, zeta=zeta)
        _published(here, whole if zeta == "range" else side, floor, lassos)
        if zeta == "range":
            _corrected(here, side, floor, lassos)
        _no_b(here, side, floor, lassos)
        _same_b(cell, here, side, Budget(epsilon, settings.delta), bounds, zeta, lassos)


def _published(rows: Rows, task: _Task, floor: float, lassos: Mapping[int, _Fits]) -> None:
    """Measure the distances that Figure 3 draws, and what MOOR gains."""
    rows = rows.at(calibration="paper")
    schemes = {"erm": Scheme("lasso", floor, moor=False), "erm-moor": Scheme("lasso", floor, moor=True)}
    fits = {variant: task.fit(task.still, scheme) for variant, scheme in schemes.items()}
    _distances(rows, fits, lassos, task.strengths)
    for k, lasso in lassos.items():
        without, moor = (_distance(fits[variant], lasso) for variant in ("erm", "erm-moor"))
        here, gain = rows.at(variant="erm-moor", reference=k), np.log(without / moor)
        measures.add(here, "gain", gain, strength=task.strengths, informative=_informative(fits))


def _corrected(rows: Rows, task: _Task, floor: float, lassos: Mapping[int, _Fits]) -> None:
    """Measure the distances of what is proved: the lasso without MOOR, and elastic nets with a kappa below 1."""
    lasso = task.fit(task.still, Scheme("lasso", floor, moor=False, halved=True))
    above = np.flatnonzero(task.strengths > floor)
    for places in (np.setdiff1d(np.arange(len(task.strengths)), above), above):
        if not len(places):
            continue
        fits = {"erm": lasso.at(places)}
        if places is above:
            fits |= {"erm-moor": _net(task, floor, places, moor=True), "erm-net": _net(task, floor, places, moor=False)}
        near = {k: one.at(places) for k, one in lassos.items()}
        _distances(rows.at(calibration="corrected", sound=places is above), fits, near, task.strengths[places])


def _net(task: _Task, floor: float, places: np.ndarray, *, moor: bool) -> _Fits:
    """Fit the elastic net whose kappa is Lambda0/Lambda, another one at each place."""
    fits = []
    for place in places:
        scheme = Scheme("elastic_net", floor, moor=moor, kappa=floor / task.strengths[place], halved=True)
        fits.append(task.fit(task.still, scheme, places=np.array([place])))
    return _Fits(*(np.concatenate([getattr(fit, key) for fit in fits], axis=1) for key in ("theta", "ok")))


def _no_b(rows: Rows, task: _Task, floor: float, lassos: Mapping[int, _Fits]) -> None:
    """Measure the distances without any noise, with the floor and without: what then is left is a lasso."""
    for calibration, k in (("paper", 2), ("corrected", 1)):
        scheme = Scheme("lasso", floor, moor=False, halved=k == 1)
        fits = {True: task.fit(task.still, scheme), False: lassos[k].first(len(task.still))}
        for floored, fit in fits.items():
            here = rows.at(row="no-b", calibration=calibration, floor=floor if floored else 0.0, floored=floored)
            _distances(here, {"erm": fit}, lassos, task.strengths)


def _same_b(
    cell: Cell, rows: Rows, task: _Task, budget: Budget, bounds: noise.Bounds, zeta: str, lassos: Mapping[int, _Fits]
) -> None:
    """Measure the distances with the noise of Equation 2, with the floor and without."""
    settings = cell.settings
    floor = noise.floor(bounds, budget.epsilon, settings.budget_share)
    own = () if zeta == "range" else (zeta,)
    for calibration in ("paper", "corrected") if zeta == "range" else ("paper",):
        law, _, _ = noise.calibrate(
            bounds, budget, share=settings.budget_share, variant="erm", calibration=calibration,
            features=task.still.shape[1], neighbours=cell.neighbours,
        )  # fmt: skip
        names = (calibration, cell.neighbours, cell.point["design"], budget.epsilon, budget.delta, *own)
        b = law.sample(task.still.shape, cell.rng("noise", *names))
        scheme = Scheme("lasso", floor, moor=False, halved=calibration == "corrected")
        for floored in (True, False):
            fits = {"erm": task.fit(b, scheme, floored=floored)}
            here = rows.at(row="same-b", calibration=calibration, delta=budget.delta)
            here = here.at(floor=floor if floored else 0.0, floored=floored)
            _distances(here, fits, lassos, task.strengths)


def _distances(rows: Rows, fits: Mapping[str, _Fits], lassos: Mapping[int, _Fits], strengths: np.ndarray) -> None:
    """Measure the distance of each estimate from each lasso, with its summary and the number of certified repeats."""
    at = {"strength": strengths, "informative": _informative(fits)}
    for (variant, fit), (k, lasso) in itertools.product(fits.items(), lassos.items()):
        here, values = rows.at(variant=variant, reference=k), _distance(fit, lasso)
        measures.add(here, "distance", values, **at)
        measures.add_summary(here, "distance", values, **at)
        measures.add(here, "runs", (~np.isnan(values)).sum(axis=0), **at)


def _distance(fit: _Fits, lasso: _Fits) -> np.ndarray:
    """Return the distances, shape (R, L), NaN where one of the two is not certified."""
    count = len(fit.ok)
    distance = np.maximum(np.linalg.norm(fit.theta - lasso.theta[:count], axis=-1), LEAST)
    return np.where(fit.ok & lasso.ok[:count], distance, np.nan)


def _informative(fits: Mapping[Any, _Fits]) -> np.ndarray:
    """Return at which strengths some estimate is not 0, shape (L,)."""
    return np.any([fit.theta.any(axis=(0, 2)) for fit in fits.values()], axis=0)
