r"""Output perturbation: minimise the regularised empirical risk, then add noise to the minimiser.

    theta = argmin sum_i l(<x_i, theta>, y_i) + Delta/2 ||theta||^2   +   noise.

The objective is Delta-strongly convex and a record moves its gradient by at most zeta, so the minimiser moves at most

    S = zeta/Delta (add/remove),    S = 2 zeta/Delta (replace-one)

(Chaudhuri, Monteleoni & Sarwate 2011, Corollary 8, with n Lambda = Delta; kifer2012, Section 1, compares with it).

Solver error: the solver stops at ||gradient|| <= tolerance zeta, so its point lies within tau = tolerance zeta/Delta of
the minimiser and the sensitivity of what is released is at most S + 2 tau. That is what the noise is made for, so the
statement is `proved` (erratum K8).

calibration="tight": delta = 0: density proportional to exp(-epsilon ||z|| / (S + 2 tau)); delta > 0: the analytic
Gaussian mechanism (Balle & Wang 2018). calibration="paper": the same for delta = 0 (that is CMS11's noise), for
delta > 0 the classical sigma = (S + 2 tau) sqrt(2 log(1.25/delta))/epsilon, whose statement is `none` where the exact
formula does not confirm it (large epsilon).
"""

import math

import numpy as np

from dperm.accounting import gaussian
from dperm.domain import Budget, Calibration, Domain, Guarantee, Neighbours
from dperm.errors import InvalidBudget
from dperm.losses import Loss
from dperm.mechanisms.base import LinearEstimator, Release, budget_event, sensitivity_factor
from dperm.noise import Gaussian, SphericalLaplace
from dperm.solvers import newton


def calibrate(
    sensitivity: float, budget: Budget, *, calibration: Calibration
) -> tuple[Gaussian | SphericalLaplace, Guarantee]:
    """Return the law of the noise for a vector of this l2 sensitivity, and whether the budget is proved for it.

    Parameters
    ----------
    sensitivity : float
        Under the caller's neighbouring relation, solver slack included.
    budget : Budget
    calibration : {"paper", "tight"}
    """
    if calibration not in ("paper", "tight"):
        raise ValueError(f"calibration={calibration!r}: output perturbation offers 'paper' and 'tight'")
    if budget.delta == 0:
        return SphericalLaplace(sensitivity / budget.epsilon), "proved"
    if calibration == "tight":
        return Gaussian(sensitivity / gaussian.gaussian_ratio(budget.epsilon, budget.delta)), "proved"
    ratio = budget.epsilon / math.sqrt(2 * math.log(1.25 / budget.delta))
    holds = gaussian.hockey_stick(budget.epsilon, ratio) <= budget.delta
    return Gaussian(sensitivity / ratio), "proved" if holds else "none"


def release(
    X: np.ndarray,
    y: np.ndarray,
    loss: Loss,
    *,
    domain: Domain,
    budget: Budget,
    neighbours: Neighbours,
    calibration: Calibration,
    curvature: float,
    rng: np.random.Generator,
    repeats: int = 1,
    tolerance: float = 1e-6,
) -> Release:
    """Release the regularised minimiser `repeats` times, each with fresh noise.

    Parameters
    ----------
    X : ndarray, shape (n, p)
        Rows with ||x||_2 <= domain.x_norm; not checked here.
    y : ndarray, shape (n,)
    loss : Loss
        With a bounded gradient on the domain.
    domain : Domain
    budget : Budget
        Spent by each of the repeats.
    neighbours : {"add_remove", "replace"}
    calibration : {"paper", "tight"}
    curvature : float
        Delta > 0, of the sum of losses.
    rng : Generator
    repeats : int
    tolerance : float
        Public target of the solver: ||gradient||_2 <= tolerance zeta.

    Returns
    -------
    Release
        The certificate is the solver's; the noise already covers it.
    """
    if not 0 < curvature < math.inf:
        raise InvalidBudget(f"curvature={curvature} must be a finite number above 0")
    if not tolerance > 0:
        raise ValueError(f"tolerance={tolerance} must be above 0")
    zeta = loss.gradient_bound(domain)
    tau = tolerance * zeta / curvature
    sensitivity = sensitivity_factor(neighbours) * zeta / curvature + 2 * tau
    noise, guarantee = calibrate(sensitivity, budget, calibration=calibration)
    solution = newton.minimise(loss, X, y, ridge=curvature, tolerance=tolerance * zeta)
    theta = solution.theta + noise.sample((repeats, X.shape[1]), rng)
    certificate = np.repeat(solution.certificate, repeats)
    event = budget_event(budget)
    if isinstance(noise, Gaussian):
        event = "GaussianDpEvent", {"noise_multiplier": noise.scale / sensitivity}
    return Release(theta, certificate, certificate <= tau, guarantee, event)


class OutputPerturbation(LinearEstimator):
    r"""Private linear model by output perturbation.

    Minimises sum_i l(<x_i, theta>, y_i) + Delta/2 ||theta||^2 and adds noise to the minimiser; the mathematics stands
    in `dperm.mechanisms.output`.

    Parameters
    ----------
    epsilon : float, default=1.0
        Above 0.
    delta : float, default=0.0
        In [0, 1); 0 adds spherical Laplace noise, else Gaussian.
    loss : {"logistic", "huber", "smoothed_hinge"}, default="logistic"
        "huber" is regression, the others are binary classification.
    loss_parameters : dict, optional
        Such as {"knee": 0.5} for "huber".
    curvature : float, optional
        Delta, for the sum of losses; default 2 lambda/epsilon, as for objective perturbation. The noise is
        proportional to 1/Delta, so a larger value often serves better here.
    calibration : {"tight", "paper"}, default="tight"
    neighbours : {"add_remove", "replace"}, default="add_remove"
        A `curvature` that depends on n is allowed under "replace" only.
    x_norm : float, default=1.0
        Public bound R on the rows' l2 norm.
    fit_intercept : bool, default=False
        Append a constant feature 1; the radius becomes sqrt(R^2 + 1), and the intercept is regularised like the rest.
    clip : bool, default=False
        Scale longer rows down to `x_norm` instead of raising.
    classes : tuple of two labels, optional
        Public (negative, positive) labels. Left out, they are taken from y with a `PrivacyLeakWarning`.
    tolerance : float, default=1e-6
        The solver's public target: ||gradient|| <= tolerance zeta; its slack is added to the sensitivity.
    random_state : int, Generator, RandomState or None, default=None
        None draws from the operating system. A seeded release is for science only.

    Attributes
    ----------
    coef_, intercept_
        As in scikit-learn.
    privacy_ : PrivacyStatement
    certificate_ : float
        Upper bound on the solver's distance from the exact minimiser, before the noise.

    References
    ----------
    kifer2012, Section 1 (comparison); Chaudhuri, Monteleoni & Sarwate 2011, Algorithm 1; Balle & Wang 2018; erratum K8.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import OutputPerturbation
    >>> X = np.array([[0.6, 0.0], [0.0, 0.8], [-0.5, 0.1], [0.1, -0.7]] * 50)
    >>> y = np.array([1, 1, 0, 0] * 50)
    >>> model = OutputPerturbation(epsilon=2.0, classes=(0, 1), random_state=0).fit(X, y)
    >>> model.privacy_.guarantee
    'proved'
    """

    source = "kifer2012, Section 1; Chaudhuri, Monteleoni & Sarwate 2011, Corollary 8"

    def __init__(
        self,
        *,
        epsilon=1.0,
        delta=0.0,
        loss="logistic",
        loss_parameters=None,
        curvature=None,
        calibration="tight",
        neighbours="add_remove",
        x_norm=1.0,
        fit_intercept=False,
        clip=False,
        classes=None,
        tolerance=1e-6,
        random_state=None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.loss = loss
        self.loss_parameters = loss_parameters
        self.curvature = curvature
        self.calibration = calibration
        self.neighbours = neighbours
        self.x_norm = x_norm
        self.fit_intercept = fit_intercept
        self.clip = clip
        self.classes = classes
        self.tolerance = tolerance
        self.random_state = random_state

    def _release(self, X, y, domain, rng):
        loss = self._loss()
        default = 2 * loss.curvature_bound(domain) / self.epsilon if self.curvature is None else self.curvature
        return release(
            X,
            y,
            loss,
            domain=domain,
            budget=Budget(self.epsilon, self.delta),
            neighbours=self.neighbours,
            calibration=self.calibration,
            curvature=default,
            rng=rng,
            tolerance=self.tolerance,
        )
