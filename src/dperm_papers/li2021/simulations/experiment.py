r"""Selection, prediction and retrieval on simulated data (li2021, Sections 5.2 and 5.3; Figures 4, 5, 7, S.1 to S.3).

A cell is one design of Table 4 at one epsilon: every method, delta and strength Lambda on R training sets. Fits are the
limit n_e -> infinity of Algorithm 1 at its fixed point, target lasso, r of epsilon spent on b.

calibration `paper`, as published: theta in R^16, the slope 2 Lambda of erratum N6, the noise as printed. Column
`variant`: `erm` (the existing DP-ERM), `vs`, `vs_plus`, and each with MOOR (`-moor`). No guarantee, but for `erm`
without MOOR on logistic data with Gaussian noise, which is ordinary objective perturbation; the other losses have no
bounded gradient on R^16 (errata N10, N11).

calibrations `corrected`, `tight`: what is left of them. In Theta = [low, high]^16, within one orthant, sum l +
<b, theta> + Lambda |theta|_1 + Lambda0 ||theta||^2 is ordinary objective perturbation, `erm` with target `lasso`. There

    vs          is that very release: sgn(theta) is known, b_orig sgn(theta) no more than a sign of b (erratum N3);
    vs_plus     has the lasso t sigma_b beside two-sided noise in the place of noise truncated to b > 0 (erratum N2);
    with MOOR   it is the elastic net Lambda (|theta|_1 + kappa ||theta||^2) with the least kappa that is sound, Lambda
                kappa = Lambda0 (erratum N4): its penalty is again Lambda |theta|_1 + Lambda0 ||theta||^2, the same
                release; the same target without MOOR, Lambda |theta|_1 + 2 Lambda0 ||theta||^2, has target
                `elastic_net`;
    retrieval   is sound for ridge alone, where the share 1 - Lambda0/max(Lambda, Lambda0) depends on Lambda only.

So `erm`/`vs_plus` x `lasso` (the elastic net with MOOR)/`elastic_net` (without) are all that there is; `tight` runs
the lasso alone. Ridge's share stands by the name of each published method.

Measured on each fit: `error` on the design's one test set (`measures.test_error`: log mean squared error, or share of
wrong labels) and `share`, the retrieved part of (1 - r) epsilon (Eq 13, `repaired`). On each path: `auc`; `zero_free`,
the part of its fits that have no zero; `empty`, whether all coefficients are 0 at the largest Lambda, `empty_loose`,
whether all are below 1e-3 there (li2021's rule for a literal run), `null_empty`, the first on data with theta* = 0;
`entry`, the Lambda from which on theta = 0 is the fit (not for vs, whose fits depend on where it starts). For other r,
of `erm-moor` (corrected: `erm`) at the smallest delta above 0: `scan_auc` and `scan_error`, the mean over the path, by
column `budget_share`, and `scan_auc_loss`, `scan_error_loss`: what r loses to the one with the best mean of the cell.
For the figures, at each Lambda: `fpr`, `tpr`, `error` and `share` as `_mean` and `_half`, the half width of the 95 %
interval, over the `runs` that converged; `share_exceeding` and `share_without_two` are errata N13 and N5 unrepaired.
mechanism `nonprivate`: the lasso with Lambda and with 2 Lambda on the same data, and the numbers of Table 4
(`design_...`).

Column `zeta`: which bounds stand for those that li2021 does not print (`designs.bounded`): `range` with all repeats,
the others, and the deltas of `side_deltas`, with the first `side_repeats`. Under `unit`, which are no bounds, only the
published methods are run. `typical-density`: the bounds of `typical`, and pure noise of the density that Equations 4
and 9 print, radius Gamma(p, zeta12/(r epsilon)), in the place of Section 3.1's radius (erratum N1); as published, with
`side_repeats`. Without privacy it is "".

`step` counts strengths from the largest, 0. Data depend on design and repeat, noise on the whole cell, delta and zeta;
the methods of a cell share its noise (|b| for truncated noise), and r its standard draws.
Neighbours: add/remove.
"""

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dperm import seeds
from dperm.domain import Budget
from dperm.mechanisms.napp import limit, losses, retrieval
from dperm.mechanisms.napp.noise import Bounds, by_density, calibrate, floor
from dperm.mechanisms.napp.scheme import Scheme
from dperm_papers.li2021.shared import designs, measures
from dperm_papers.li2021.shared.designs import Design
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# li2021's rule that a coefficient of a literal run is 0.
LOOSE = 1e-3
# The lasso without privacy is its fixed point with MOOR and next to no floor: theta would have to be 1e8 to meet it.
_NO_FLOOR = 1e-9


class Method(NamedTuple):
    """What is fitted: a variant, with MOOR or not, for a target, with a multiple of Lambda0 as the floor."""

    kind: str
    moor: bool = False
    target: str = "lasso"
    floors: float = 1.0

    @property
    def variant(self) -> str:
        """The name in rows."""
        return f"{self.kind}-moor" if self.moor else self.kind


PUBLISHED = tuple(Method(kind, moor) for kind in ("erm", "vs", "vs_plus") for moor in (False, True))
TIGHT = (Method("erm"), Method("vs_plus"))
CORRECTED = (*TIGHT, *(method._replace(target="elastic_net", floors=2.0) for method in TIGHT))
METHODS = {"paper": PUBLISHED, "corrected": CORRECTED, "tight": TIGHT}


@dataclass(frozen=True, eq=False)
class _Data:
    """What is drawn once for a design: training sets, those of the null design, and the test set."""

    training: tuple[np.ndarray, np.ndarray]
    null: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class _Setting:
    """What the fits of a cell with the same bounds zeta have in common: data, test set, and the grid of Lambda."""

    cell: Cell
    zeta: str
    repeats: int
    design: Design
    public: Design
    bounds: Bounds
    problems: limit.Problems
    null: limit.Problems
    gradient: np.ndarray
    test: tuple[np.ndarray, np.ndarray]
    strengths: np.ndarray
    density: bool = False

    @property
    def paper(self) -> bool:
        """Whether the mechanism is run as published."""
        return self.cell.calibration == "paper"

    @property
    def along(self) -> dict[str, np.ndarray]:
        """Return the columns that tell the fits of a path apart."""
        return {"strength": self.strengths, "step": np.arange(len(self.strengths))}


@dataclass(frozen=True)
class _Fits:
    """Paths of one method at one budget: theta is NaN where a fit did not converge."""

    theta: np.ndarray
    scheme: Scheme
    tilt: np.ndarray
    extra_l1: float
    guarantee: str


def run(cell: Cell, rows: Rows) -> None:
    """Measure one design at one epsilon; columns target, strength, step, budget_share (r), zeta."""
    settings = cell.settings
    data = _data(cell.seed, cell.experiment, cell.point["design"], settings.repeats, settings.test_rows)
    # The rows of a whole path have no strength of their own.
    rows = rows.at(delta=0.0, target="lasso", budget_share=settings.budget_share, strength=0.0, step=-1)
    own = _setting(cell, data, "range", settings.repeats)
    for delta in settings.deltas:
        _private(own, rows.at(delta=delta, zeta="range"), delta)
    zetas = [zeta for zeta in settings.side_zetas if own.paper or zeta != "unit"]
    beside = {"range": settings.side_deltas, **dict.fromkeys(zetas, settings.deltas)}
    settled = {zeta: _setting(cell, data, zeta, settings.side_repeats) for zeta in beside}
    for zeta, setting in settled.items():
        for delta in beside[zeta]:
            _private(setting, rows.at(delta=delta, zeta=zeta), delta)
    for zeta in settings.density_zetas if own.paper else ():
        setting = replace(_setting(cell, data, zeta, settings.side_repeats), zeta=f"{zeta}-density", density=True)
        _private(setting, rows.at(delta=0.0, zeta=setting.zeta), 0.0)
    nonprivate = rows.at(mechanism="nonprivate")
    if own.paper:
        _benchmark(own, data, nonprivate.at(calibration="", zeta=""))
        for zeta, setting in (settled | {"range": own}).items():
            _facts(setting, nonprivate.at(calibration="", zeta=zeta))
    elif cell.calibration == "corrected":
        for zeta, setting in settled.items():
            _ridge(setting, nonprivate.at(target="ridge", zeta=zeta))


@functools.lru_cache(maxsize=1)
def _data(seed: int, experiment: str, name: str, repeats: int, test_rows: int) -> _Data:
    """Return the data of a design: a job asks for them at one epsilon after another."""
    design = designs.find(name)
    nothing = replace(design, truth=np.zeros(design.p))
    rngs = (seeds.generator(seed, experiment, "null", name, r) for r in range(repeats))
    X, y = map(np.array, zip(*(designs.draw(nothing, design.n, rng) for rng in rngs), strict=True))
    training = designs.training(seed, experiment, name, repeats)
    return _Data(training, (X, y), designs.test(seed, experiment, name, test_rows))


def _setting(cell: Cell, data: _Data, zeta: str, repeats: int) -> _Setting:
    settings, paper = cell.settings, cell.calibration == "paper"
    design = designs.find(cell.point["design"])
    public = designs.bounded(design, zeta)
    eta_bound = math.inf if paper else public.eta_bound

    def first(sets: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        X, y = (part[:repeats] for part in sets)
        return X, y if paper else np.clip(y, -public.y_bound, public.y_bound)

    X, y = first(data.training)
    slopes = losses.make(design.loss, eta_bound).derivative(np.zeros_like(y), y)
    return _Setting(
        cell,
        zeta,
        len(X),
        design,
        public,
        Bounds(public.zeta1, public.zeta2 if paper else public.boxed_zeta2, public.zeta3),
        limit.problems(design.loss, X, y, eta_bound),
        limit.problems(design.loss, *first(data.null), eta_bound),
        np.einsum("rij,ri->rj", X, slopes),
        data.test,
        np.geomspace(*settings.strengths, settings.steps),
    )


def _fit(setting: _Setting, method: Method, delta: float, r: float, *, null: bool = False) -> _Fits:
    """Fit the path of every repeat; on the null design at the largest strength alone."""
    cell, design, epsilon = setting.cell, setting.design, setting.cell.point["epsilon"]
    law, extra_l1, guarantee = calibrate(
        setting.bounds, Budget(epsilon, delta), share=r, variant=method.kind, calibration=cell.calibration,
        features=design.p, neighbours=cell.neighbours, loss=losses.make(design.loss),
    )  # fmt: skip
    if setting.density:
        law = by_density(law)
    names = (cell.calibration, cell.neighbours, cell.point["design"], epsilon, delta)
    names += () if setting.zeta == "range" else (setting.zeta,)
    noise = law.sample((setting.repeats, design.p), cell.rng("noise", *names))
    target = method.target if setting.paper else "lasso"
    least = floor(setting.bounds, epsilon, r)
    scheme = Scheme(target, method.floors * least, method.moor, halved=not setting.paper)
    found = limit.path(
        setting.null if null else setting.problems, noise, scheme, setting.strengths[:1] if null else setting.strengths,
        variant=method.kind if setting.paper else "erm", extra_l1=extra_l1, box=None if setting.paper else design.box,
        tolerance=cell.settings.tolerance,
    )  # fmt: skip
    bounded = design.loss == "logistic" and setting.zeta != "unit" and not setting.density
    if setting.paper and (method.moor or method.kind != "erm" or not bounded):
        guarantee = "none"
    return _Fits(_certified(found), scheme, noise, extra_l1, guarantee)


def _certified(found: limit.Paths) -> np.ndarray:
    """Return theta, NaN where a fit did not converge."""
    return np.where(found.converged[..., None], found.theta, math.nan)


def _private(setting: _Setting, rows: Rows, delta: float) -> None:
    """Measure every method at one delta."""
    for method in METHODS[setting.cell.calibration]:
        r = setting.cell.settings.budget_share
        fits = _fit(setting, method, delta, r)
        here = rows.at(variant=method.variant, target=method.target, guarantee=fits.guarantee)
        paths, at_each = _measured(setting, fits)
        null = _fit(setting, method, delta, r, null=True).theta
        paths["null_empty"] = _unless(null, (null == 0).all(axis=-1))[:, 0]
        if not setting.paper:
            # The target reached is Lambda R there.
            at_zero = {"slope": 1, "extra_l1": fits.extra_l1, "box": setting.design.box}
            paths["entry"] = measures.entry(setting.gradient + fits.tilt, **at_zero)
        elif method.kind == "erm":
            paths["entry"] = measures.entry(setting.gradient + fits.tilt, 2)
        elif method.kind == "vs_plus":
            paths["entry"] = measures.entry(setting.gradient, 2, extra_l1=fits.tilt)
        _add_paths(here, paths)
        _add_fits(setting, here, at_each)
        _scan(setting, here, delta, method, fits, at_each["error"])


def _measured(setting: _Setting, fits: _Fits) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return what is measured on each path, shape (R,), and on each fit, shape (R, L)."""
    theta = fits.theta
    false, true = (_unless(theta, rate) for rate in measures.rates(theta, setting.design.relevant))
    lost = np.isnan(theta).any(axis=(1, 2))
    paths = {
        "auc": measures.area(false, true),
        "zero_free": np.where(lost, math.nan, (theta != 0).all(axis=-1).mean(axis=-1)),
        "empty": _unless(theta, (theta == 0).all(axis=-1))[:, 0],
        "empty_loose": _unless(theta, (np.abs(theta) < LOOSE).all(axis=-1))[:, 0],
    }
    at_each = {"fpr": false, "tpr": true, "error": _error(setting, theta)}
    if setting.paper:
        options = {"share": {}, "share_exceeding": {"among": "exceeding"}, "share_without_two": {"form": "without_two"}}
        for name, option in options.items():
            at_each[name] = _unless(theta, retrieval.retrieved(fits.scheme, setting.strengths, theta, **option))
    return paths, at_each


def _error(setting: _Setting, theta: np.ndarray) -> np.ndarray:
    return measures.test_error(setting.design.loss, *setting.test, theta, eta_bound=setting.design.eta_bound)


def _unless(theta: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the values of each fit, NaN where it did not converge."""
    return np.where(np.isnan(theta).any(axis=-1), math.nan, values)


def _scan(setting: _Setting, rows: Rows, delta: float, method: Method, fits: _Fits, error: np.ndarray) -> None:
    """Vary r, the part of epsilon that b spends, of one method at one delta; fits and error are those of its own r."""
    settings = setting.cell.settings
    scanned = Method("erm", moor=setting.paper), min((delta for delta in settings.deltas if delta > 0), default=0.0)
    if setting.cell.calibration == "tight" or (method, delta) != scanned:
        return
    own, found = settings.budget_share, {}
    for r in (own, *(other for other in settings.other_shares if other != own)):
        at = fits if r == own else _fit(setting, method, delta, r)
        false, true = (_unless(at.theta, rate) for rate in measures.rates(at.theta, setting.design.relevant))
        at_each = error if r == own else _error(setting, at.theta)
        found[r] = {"scan_auc": measures.area(false, true), "scan_error": at_each.mean(axis=1)}
        _add_paths(rows.at(guarantee=at.guarantee, budget_share=r), found[r])
    lost = {}
    for metric, sign in (("scan_auc", -1), ("scan_error", 1)):
        each = {r: sign * values[metric] for r, values in found.items()}
        best = min(each, key=lambda r: np.nanmean(each[r]))
        lost[f"{metric}_loss"] = each[own] - each[best]
    _add_paths(rows, lost)


def _benchmark(setting: _Setting, data: _Data, rows: Rows) -> None:
    """Measure the lasso without privacy, on the same data: its means alone."""
    settings = setting.cell.settings
    for variant, halved in (("lasso", True), ("lasso-2", False)):
        name, ends = setting.cell.point["design"], tuple(settings.strengths)
        area, at_each = _lasso(data, name, halved, ends, settings.steps, settings.tolerance)
        here = rows.at(variant=variant)
        _add_paths(here, {"auc": area})
        _add_fits(setting, here, at_each, each=())


@functools.lru_cache(maxsize=2)
def _lasso(
    data: _Data, name: str, halved: bool, ends: tuple[float, float], steps: int, tolerance: float
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the auc, shape (R,), and what is measured on each fit, (R, L), of a lasso: epsilon has no part in it."""
    design, (X, y) = designs.find(name), data.training
    scheme = Scheme("lasso", _NO_FLOOR, moor=True, halved=halved)
    found = limit.path(
        limit.problems(design.loss, X, y), np.zeros((len(X), design.p)), scheme, np.geomspace(*ends, steps),
        variant="erm", tolerance=tolerance,
    )  # fmt: skip
    theta = _certified(found)
    false, true = (_unless(theta, rate) for rate in measures.rates(theta, design.relevant))
    error = measures.test_error(design.loss, *data.test, theta, eta_bound=design.eta_bound)
    return measures.area(false, true), {"fpr": false, "tpr": true, "error": error}


def _ridge(setting: _Setting, rows: Rows) -> None:
    """Add the retrieved share where retrieval is sound: a formula, in which no fit, variant or delta has a part.

    No release: `rows` are those of no mechanism, so that the privacy ledger does not list it.
    """
    least = floor(setting.bounds, setting.cell.point["epsilon"], setting.cell.settings.budget_share)
    shape = (1, len(setting.strengths), setting.design.p)
    share = retrieval.retrieved(Scheme("ridge", least, moor=True), setting.strengths, np.ones(shape))
    for method in PUBLISHED:
        rows.add("share_mean", share, variant=method.variant, **setting.along)


def _facts(setting: _Setting, rows: Rows) -> None:
    """Add what Table 4 says of the design, and the public bounds that stand for it."""
    design = setting.public
    nonzero = design.truth[design.relevant]
    facts = {
        "records": design.n, "features": design.p, "half_width": design.half_width, "relevant": len(nonzero),
        "largest": nonzero.max(), "smallest": nonzero.min(), "sign": design.sign, "zeta1": design.zeta1,
        "zeta2": design.zeta2, "boxed_zeta2": design.boxed_zeta2, "zeta3": design.zeta3,
        "repeats": setting.repeats, "test_rows": len(setting.test[1]), "noise_sd": designs.NOISE_SD,
        "noise_cut": designs.NOISE_CUT,
    }  # fmt: skip
    for name, value in facts.items():
        rows.add(f"design_{name}", value, variant=design.loss)


def _add_paths(rows: Rows, paths: Mapping[str, np.ndarray]) -> None:
    """Add a row for each path, failed where one of its fits is."""
    for name, values in paths.items():
        rows.add(name, values, ok=~np.isnan(values))


def _add_fits(
    setting: _Setting, rows: Rows, at_each: Mapping[str, np.ndarray], each: tuple[str, ...] = ("error", "share")
) -> None:
    """Add a row for each fit's measure in `each`, of every measure its summary, and how many fits converged."""
    for name, values in at_each.items():
        if name in each:
            measures.add(rows, name, values, **setting.along)
        measures.add_summary(rows, name, values, **setting.along)
    converged = ~np.isnan(next(iter(at_each.values())))
    measures.add(rows, "runs", converged.sum(axis=0), **setting.along)
