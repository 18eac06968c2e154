r"""What grows with the dimension d, on rows of the formula `kdd-like` at several d (jain2013, Sections 1, 6.1 and 7).

The same setting at each d: n = 2,000 rows, Huber loss with knee 1, total = n lambda = 1,000, epsilon = 1, T = 100
public points, 200 fresh test rows; every repeat draws rows and noise anew. Metrics, column `features` being d:

    noise_norm        cms11: ||b||_2, all d coordinates drawn
    prediction_noise  cms11: (1/q) sum |<w^ - w*, x>| over the test rows; tddl: the root mean square, over Z, of the
                      prediction with the noise less the one without

CMS11's b has the density exp(-beta ||b||) on R^d, beta = epsilon'/2: its norm is Gamma(d, 1/beta), of mean d/beta. The
noise of TDDL is made for the number of answers, Delta_1 = 2/total, and knows no d. Neighbours: replace-one.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dperm import losses, seeds
from dperm.domain import Budget, Domain
from dperm.mechanisms import cms11
from dperm.mechanisms.kernel import tddl
from dperm.mechanisms.kernel.constants import Setting, a_priori_radius
from dperm.solvers import sparse as solver
from dperm_papers.jain2013.shared.kdd_data import touched
from dperm_pipeline.datasets import synthetic

DATASETS = ("kdd-like",)
RECORDS, POINTS, TEST, TOTAL, EPSILON = 2000, 100, 200, 1000.0, 1.0
DOMAIN = Domain(x_norm=1.0, y_bound=1.0)
SLACK = 1 / 20
CALIBRATIONS = ("paper", "corrected", "tight")


def lines(cell: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the rows.

    - cell: as `dperm_pipeline.plan` made it: settings `features` (the d), `side_repeats`, `delta` and `tolerance`.
    """
    for d in cell["settings"]["features"]:
        for repeat in range(cell["settings"]["side_repeats"]):
            for line in _measured(cell, d, repeat):
                yield {**line, "features": d, "repeat": repeat, "total": TOTAL, "headline": False}


def _measured(cell: Mapping[str, Any], d: int, repeat: int) -> Iterator[dict[str, Any]]:
    settings = cell["settings"]

    def rng(*names):
        names = (cell["experiment"], cell["point"]["dataset"], "dimension", d, repeat, *names)
        return seeds.generator(cell["seed"], *names)

    drawn = synthetic.kdd_like(RECORDS + POINTS + TEST, int(rng("rows").integers(2**31)), d=d)
    rows, y = touched(drawn.X), drawn.y[:RECORDS]
    X, Z, Q = rows[:RECORDS], rows[RECORDS : RECORDS + POINTS], rows[RECORDS + POINTS :]
    loss = losses.huber(1.0)
    setting = Setting(
        lipschitz=1.0, feature_norm=1.0, total=TOTAL, slack=SLACK * 2 / TOTAL,
        radius=a_priori_radius(0.5, 1.0, 1.0, TOTAL, RECORDS),
    )  # fmt: skip
    fit = solver.minimise(X, y, loss, total=TOTAL, slack=setting.slack)

    pure = Budget(EPSILON, 0.0)
    head = {"mechanism": "cms11", "calibration": "paper", "neighbours": "replace", "epsilon": EPSILON, "delta": 0.0}
    law = cms11.calibrate(loss, DOMAIN, pure, perturbation="objective", curvature=TOTAL)
    norm = float(np.linalg.norm(law.noise.sample((d,), rng("norm"))))
    yield {**head, "guarantee": law.guarantee, "metric": "noise_norm", "value": norm}
    made = cms11.release(
        X, y, loss, domain=DOMAIN, budget=pure, neighbours="replace", calibration="paper", curvature=TOTAL,
        rng=rng("cms11"), features=d, tolerance=settings["tolerance"],
    )  # fmt: skip
    off = np.abs(Q @ made.theta[0] - fit.predict(Q)).mean() if made.converged.all() else np.nan
    yield {**head, "guarantee": made.guarantee, "metric": "prediction_noise", "value": float(off)}

    budget = Budget(EPSILON, settings["delta"])
    spectrum, answers = tddl.spectrum((Z @ Z.T).toarray()), fit.predict(Z)
    exact = tddl.fit(spectrum, answers[None, :], setting.radius).at(spectrum.K)
    for calibration in CALIBRATIONS:
        noisy = tddl.release(spectrum, answers, setting, budget, calibration=calibration, rng=rng("tddl", calibration))
        yield {
            "mechanism": "tddl", "calibration": calibration, "neighbours": "replace", "guarantee": noisy.guarantee,
            "epsilon": EPSILON, "delta": budget.delta, "metric": "prediction_noise",
            "value": float(np.sqrt(np.mean((noisy.at(spectrum.K) - exact) ** 2))),
        }  # fmt: skip
