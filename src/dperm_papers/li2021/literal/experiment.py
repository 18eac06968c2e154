r"""Prediction by Algorithm 1 to the letter (li2021, Section 5.2, Figure 5): n_e = 10,000 drawn rows in each iteration.

li2021-simulations draws Figure 5 at the limit n_e -> infinity. The paper's own runs had n_e = 10^4 (Section 3.4), at
which errors and the order of the methods differ from the limit's (erratum N8). Here a part of Figure 5's grid is run as
the paper ran it: every iteration appends `augmented_rows` rows to the data and refits, `iterations` times.

A cell is one design of Table 4 at one epsilon: the six methods of Figure 5 (`variant`), `zetas`, `steps` values of
Lambda (`strength`), R training sets at `delta`, which is the text's, and the first of them at `side_deltas`.
Calibration `paper`, Gaussian b, target lasso. Metric `error`, as `measures.test_error` of the last iterate: log mean
squared error, or the share of wrong labels, on one test set.

Column `zeta`: which bounds stand for those that li2021 does not print (`designs.bounded`). Where two of them are equal
for a design their rows are, too. `unit` is not run on Poisson designs, of which Section 5.1 says that zeta3 is large.

The methods and Lambdas of a repeat share its data, its b (|b| for VS+) and the standard normal draws behind its rows.
A literal run is outside Theorem 4 (errata N8, N11): guarantee `none`. Neighbours: add/remove.
"""

import contextlib

import numpy as np

from dperm.domain import Budget
from dperm.errors import SolverError
from dperm.mechanisms.napp import noise
from dperm.mechanisms.napp.scheme import Scheme
from dperm_papers.li2021.shared import designs, measures, pairs
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# Name in rows -> variant, and whether with MOOR.
METHODS = {
    "erm": ("erm", False),
    "erm-moor": ("erm", True),
    "vs": ("vs", False),
    "vs-moor": ("vs", True),
    "vs_plus": ("vs_plus", False),
    "vs_plus-moor": ("vs_plus", True),
}


def run(cell: Cell, rows: Rows) -> None:
    """Measure one design at one epsilon; columns delta, strength, zeta, rows_added (n_e)."""
    settings = cell.settings
    rows = rows.at(target="lasso", rows_added=settings.augmented_rows)
    training = designs.training(cell.seed, cell.experiment, cell.point["design"], settings.repeats)
    first = tuple(part[: settings.side_repeats] for part in training)
    for delta, sets in [(settings.delta, training), *((delta, first) for delta in settings.side_deltas)]:
        _at_delta(cell, rows.at(delta=delta), delta, sets)


def _at_delta(cell: Cell, rows: Rows, delta: float, training: tuple[np.ndarray, np.ndarray]) -> None:
    """Measure the methods under each zeta."""
    settings, name = cell.settings, cell.point["design"]
    strengths = np.geomspace(*settings.strengths, settings.steps)
    test = designs.test(cell.seed, cell.experiment, name, settings.test_rows)
    found: dict[noise.Bounds, dict[str, np.ndarray]] = {}
    for zeta in settings.zetas:
        design = designs.bounded(designs.find(name), zeta)
        if zeta == "unit" and design.loss == "poisson":
            continue
        bounds = noise.Bounds(design.zeta1, design.zeta2, design.zeta3)
        if bounds not in found:
            found[bounds] = _fits(cell, design, bounds, delta, training, strengths)
        for variant, theta in found[bounds].items():
            error = measures.test_error(design.loss, *test, theta, eta_bound=designs.find(name).eta_bound)
            measures.add(rows, "error", error, variant=variant, zeta=zeta, strength=strengths)


def _fits(
    cell: Cell,
    design: designs.Design,
    bounds: noise.Bounds,
    delta: float,
    training: tuple[np.ndarray, np.ndarray],
    strengths: np.ndarray,
) -> dict[str, np.ndarray]:
    """Return theta of every method, shape (R, L, p); NaN where a fit did not converge."""
    settings, name, epsilon = cell.settings, cell.point["design"], cell.point["epsilon"]
    law, _, _ = noise.calibrate(
        bounds, Budget(epsilon, delta), share=settings.budget_share, variant="erm", calibration="paper",
        features=design.p,
    )  # fmt: skip
    count = len(training[0])
    # The same draws at each delta: the noise is that of the first runs, shorter or longer.
    b = law.sample((settings.repeats, design.p), cell.rng(name, "noise", epsilon))[:count]
    floor = noise.floor(bounds, epsilon, settings.budget_share)
    found = {method: np.full((count, len(strengths), design.p), np.nan) for method in METHODS}
    for repeat, (X, y) in enumerate(zip(*training, strict=True)):
        draws = pairs.shared(
            cell.rng(name, "rows", repeat), settings.augmented_rows, settings.iterations, design.p
        )  # fmt: skip
        for method, (variant, moor) in METHODS.items():
            tilt = np.abs(b[repeat]) if variant == "vs_plus" else b[repeat]
            for k, strength in enumerate(strengths):
                run = pairs.iterates(
                    design.loss, X, y, tilt, Scheme("lasso", floor, moor=moor), strength, variant=variant,
                    rows=settings.augmented_rows, steps=settings.iterations, draws=draws,
                )  # fmt: skip
                with contextlib.suppress(SolverError):  # stays NaN, a failed fit
                    found[method][repeat, k] = list(run)[-1]
    return found
