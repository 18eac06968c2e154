"""Approximate minima perturbation as a scikit-learn estimator."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dperm.domain import Budget, Domain
from dperm.errors import InvalidBudget, ReleaseError
from dperm.mechanisms import approximate_minima
from dperm.mechanisms.base import COVERED_TARGET, bounds_everywhere
from dperm.mechanisms.estimators.linear import LinearEstimator

# The least target of a total fit, as a share of the tilt's length; objective perturbation's default has the same floor.
_ROUNDED = 1e-12


@dataclass(eq=False, repr=False, kw_only=True)
class ApproximateMinima(LinearEstimator):
    r"""Private linear model by approximate minima perturbation.

    Minimises sum_i l(<x_i, theta>, y_i) + Delta/2 ||theta||^2 + <b1, theta> up to a public distance, and adds noise b2
    that hides how far the solver went; the mathematics and the paper's constants stand in
    `dperm.mechanisms.approximate_minima`, the proofs in docs/privacy.md, section 9.

    Parameters
    ----------
    epsilon : float, default=1.0
        Above 0.
    delta : float, default=1e-6
        In (0, 1): both noises are Gaussian.
    loss : {"logistic", "capped_logistic", "huber", "smoothed_hinge"}, default="logistic"
        "huber" is regression, the others are binary classification.
    loss_parameters : dict, optional
        Such as {"knee": 0.5} for "huber".
    curvature : float, optional
        Delta, for the sum of losses, the paper's Lambda; default the least that it allows, min(p, 2) lambda/(epsilon1 -
        epsilon3), 20 to 30 lambda/epsilon.
    gamma : float, optional
        The solver's public target: a distance of at most n gamma/Delta from the minimiser, as a gradient of the mean
        loss of at most gamma certifies it. Default zeta/n^2.
    output_share : float, default=0.01
        Share of the budget that pays for b2, which hides the solver's error.
    tilt_share : float, optional
        Share of the rest's epsilon that pays for b1; what is left pays for the curvature. Default the paper's formula.
    n_public : int, optional
        Public number (or guess) of records, for the solver's target alone. Needed under "add_remove", where n is
        private; under "replace" n is public and the default.
    calibration : {"paper"}, default="paper"
        The paper's constants, which our own theorems prove at the default shares; elsewhere the statement may say
        `claimed`.
    neighbours : {"replace", "add_remove"}, default="replace"
        The paper's is replace-one.
    x_norm : float, default=1.0
        Public bound R on the rows' l2 norm.
    fit_intercept : bool, default=False
        Append a constant feature 1; the radius becomes sqrt(R^2 + 1), and the intercept is regularised like the rest.
    clip : bool, default=False
        Scale longer rows down to `x_norm`, and bring targets into their domain, instead of raising: with declared
        `classes` (or real targets) no record makes `fit` fail or warn (docs/privacy.md, section 1). n gamma is then at
        least 1e-9 zeta.
    classes : tuple of two labels, optional
        Public (negative, positive) labels. Left out, they are taken from y with a `PrivacyLeakWarning`.
    release : bool, default=False
        True is refused: the noise of this mechanism cannot be made safe against floating point.
    random_state : int, Generator, RandomState or None, default=None
        None draws from the operating system. A seeded release is for science only.

    Attributes
    ----------
    coef_, intercept_
        As in scikit-learn.
    privacy_ : PrivacyStatement

    Warns
    -----
    VacuousWarning
        Where the noise is as strong as n records (under "add_remove" `n_public`), or the output noise in a score at the
        bound as large as the margin that the loss tells apart (`dperm.mechanisms.vacuous`).

    References
    ----------
    Iyengar, Near, Song, Thakkar, Thakurta & Wang 2019, Algorithm 1; a comparator of kifer2012; erratum K8.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import ApproximateMinima
    >>> X = np.array([[0.6, 0.0], [0.0, 0.8], [-0.5, 0.1], [0.1, -0.7]] * 50)
    >>> y = np.array([1, 1, 0, 0] * 50)
    >>> model = ApproximateMinima(epsilon=2.0, delta=1e-6, classes=(0, 1), random_state=0).fit(X, y)
    >>> model.privacy_.guarantee
    'proved'
    """

    source = "Iyengar et al. 2019, Algorithm 1; docs/privacy.md, section 9"
    _target = "gamma"

    delta: float = 1e-6
    loss_parameters: dict[str, Any] | None = None
    curvature: float | None = None
    gamma: float | None = None
    output_share: float = 0.01
    tilt_share: float | None = None
    n_public: float | None = None
    calibration: str = "paper"
    neighbours: str = "replace"

    def _constants(self):
        """Return what both `approximate_minima.calibrate` and `release` take."""
        names = ("neighbours", "curvature", "gamma", "output_share", "tilt_share")
        return {"budget": Budget(self.epsilon, self.delta)} | {name: getattr(self, name) for name in names}

    def _run(self, X, y, loss, domain, rng):
        given = {"calibration": self.calibration, "n_public": self.n_public} | self._constants()
        return approximate_minima.release(X, y, loss, domain=domain, rng=rng, **given)

    def _check_bounds(self, loss, domain):
        # What is wrong whatever the records are is blamed before they are looked at: on none, of fewest columns.
        features = 1 + bool(self.fit_intercept)
        if self.fit_intercept:
            domain = Domain(x_norm=math.hypot(self.x_norm, 1.0))
        self._run(np.zeros((0, features)), np.zeros(0), loss, domain, np.random.default_rng(0))

    def _check_release(self):
        raise ReleaseError(
            "release=True: approximate minima perturbation cannot be released safely. One of its noises enters a "
            "convex problem as a real vector, and no noise added afterwards makes that exact; take "
            "OutputPerturbation(release=True)"
        )

    def _release(self, X, y, loss, domain, rng):
        if self.clip:
            self._check_target(loss, domain, len(X), X.shape[1])
        return self._run(X, y, loss, domain, rng)

    def _check_target(self, loss, domain, n, p):
        """Refuse a target below what the sums of some records round to: there some would miss it, and others not."""
        records = n if self.n_public is None else self.n_public
        made = approximate_minima.calibrate(loss, domain, n=records, p=p, **self._constants())
        least = max(COVERED_TARGET * bounds_everywhere(loss, domain)[0], _ROUNDED * made.tilt.scale * math.sqrt(p))
        if made.gradient_norm < least:
            raise InvalidBudget(
                f"the solver's target n gamma = {made.gradient_norm:.3g} is below {least:.3g}: with clip=True no "
                "record may make fit fail, and sums of some records are not known so exactly; raise gamma, or declare "
                "a smaller n_public"
            )
