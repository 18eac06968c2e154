r"""What grows with the dimension d, on rows of the formula `kdd-like` at several d (jain2013, Sections 1, 6.1 and 7).

The same setting at each d: n = 2,000 rows, Huber loss with knee 1, total = n lambda = 1,000, epsilon = 1, T = 100
public points, 200 fresh test rows; every repeat draws rows and noise anew. Metrics, column `features` being d:

    noise_norm        cms11: ||b||_2, all d coordinates drawn
    prediction_noise  cms11: (1/q) sum |<w^ - w*, x>| over the test rows; tddl: the root mean square, over Z, of the
                      prediction with the noise less the one without

CMS11's b has the density exp(-beta ||b||) on R^d, beta = epsilon'/2: its norm is Gamma(d, 1/beta), of mean d/beta. The
noise of TDDL is made for the number of answers, Delta_1 = 2/total, and knows no d. Neighbours: replace-one.
"""

import numpy as np

from dperm import losses
from dperm.domain import Budget, Domain
from dperm.mechanisms import cms11
from dperm.mechanisms.kernel import tddl
from dperm.mechanisms.kernel.constants import Setting, a_priori_radius
from dperm.solvers import sparse as solver
from dperm_papers.jain2013.shared.kdd_data import generator, touched
from dperm_pipeline.datasets import synthetic
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

DATASETS = ("kdd-like",)
RECORDS, POINTS, TEST, TOTAL, EPSILON = 2000, 100, 200, 1000.0, 1.0
DOMAIN = Domain(x_norm=1.0, y_bound=1.0)
SLACK = 1 / 20
CALIBRATIONS = ("paper", "corrected", "tight")


def measure(cell: Cell, rows: Rows) -> None:
    """Measure every repeat at every d."""
    for d in cell.settings.features:
        for repeat in range(cell.settings.side_repeats):
            _at_dimension(cell, rows.at(features=d, repeat=repeat, total=TOTAL, headline=False), d, repeat)


def _at_dimension(cell: Cell, rows: Rows, d: int, repeat: int) -> None:
    def rng(*names):
        return generator(cell, "dimension", d, repeat, *names)

    drawn = synthetic.kdd_like(RECORDS + POINTS + TEST, int(rng("rows").integers(2**31)), d=d)
    features, y = touched(drawn.X), drawn.y[:RECORDS]
    X, Z, Q = features[:RECORDS], features[RECORDS : RECORDS + POINTS], features[RECORDS + POINTS :]
    loss = losses.huber(1.0)
    setting = Setting(
        lipschitz=1.0, feature_norm=1.0, total=TOTAL, slack=SLACK * 2 / TOTAL,
        radius=a_priori_radius(0.5, 1.0, 1.0, TOTAL, RECORDS),
    )  # fmt: skip
    fit = solver.minimise(X, y, loss, total=TOTAL, slack=setting.slack)

    pure = Budget(EPSILON, 0.0)
    here = rows.at(mechanism="cms11", calibration="paper", epsilon=EPSILON, delta=0.0)
    law = cms11.calibrate(loss, DOMAIN, pure, perturbation="objective", curvature=TOTAL)
    norm = np.linalg.norm(law.noise.sample((d,), rng("norm")))
    here.add("noise_norm", norm, guarantee=law.guarantee)
    made = cms11.release(
        X, y, loss, domain=DOMAIN, budget=pure, neighbours="replace", calibration="paper", curvature=TOTAL,
        rng=rng("cms11"), features=d, tolerance=cell.settings.tolerance,
    )  # fmt: skip
    off = np.abs(Q @ made.theta[0] - fit.predict(Q)).mean()
    here.add("prediction_noise", off, ok=made.converged.all(), guarantee=made.guarantee)

    budget = Budget(EPSILON, cell.settings.delta)
    spectrum, answers = tddl.spectrum((Z @ Z.T).toarray()), fit.predict(Z)
    exact = tddl.fit(spectrum, answers[None, :], setting.radius).at(spectrum.K)
    for calibration in CALIBRATIONS:
        noisy = tddl.release(spectrum, answers, setting, budget, calibration=calibration, rng=rng("tddl", calibration))
        off = np.sqrt(np.mean((noisy.at(spectrum.K) - exact) ** 2))
        here = rows.at(mechanism="tddl", calibration=calibration, epsilon=EPSILON, delta=budget.delta)
        here.add("prediction_noise", off, guarantee=noisy.guarantee)
