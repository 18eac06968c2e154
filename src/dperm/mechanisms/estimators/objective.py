"""Objective perturbation as a scikit-learn estimator."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from dperm.domain import MOST, Budget, number
from dperm.errors import InvalidBudget, ReleaseError
from dperm.feasible import Region, Regularizer
from dperm.mechanisms import balanced, objective
from dperm.mechanisms.base import (
    aimed,
    bounds,
    budget_event,
    check_nearness,
    check_steepness,
    checked_share,
    curvature_or_default,
    searched,
    share_or_default,
)
from dperm.mechanisms.estimators.weighted import WeightedEstimator
from dperm.solvers import composite

# The largest lambda/Delta of a total fit; from 1e3 on 80 equal rows missed their target, and 79 did not.
STEEPEST = 100
# Numbers of a table or a Hessian, above which sparse rows are solved for on the columns alone that some record has.
LARGE = 2**24


@dataclass(eq=False, repr=False, kw_only=True)
class ObjectivePerturbation(WeightedEstimator):
    r"""Private linear model by objective perturbation.

    Minimises sum_i w_i l(<x_i, theta>, y_i) + r(theta) + (Delta - l2)_+/2 ||theta||^2 + <b, theta> over a convex set F
    with a random b; w_i is 1 unless `fit` is given weights. The mathematics and its calibrations stand in
    `dperm.mechanisms.objective`, the proofs in docs/privacy.md. Rows may be sparse: they are solved for as dense ones,
    of a large table on the columns alone that some record has, unless there is l1, a ball or a box. For `l1`, a further
    `regularizer`, a ball, a box or `constraints` they rest on the limit theorem (kifer2012, Theorem 1), which carries
    the guarantee over from smooth regularizers on R^p.

    Parameters
    ----------
    epsilon : float, default=1.0
        Above 0.
    delta : float, default=0.0
        In [0, 1); 0 draws b from the spherical Laplace ("gamma") law, else Gaussian.
    loss : {"logistic", "capped_logistic", "huber", "smoothed_hinge", "squared", "poisson"}, default="logistic"
        "huber" and "squared" are regression, "poisson" of targets 0 and above, the others binary classification.
        "squared" and "poisson" need a bounded set (`radius`, or `low` and `high`) and `y_bound`.
    loss_parameters : dict, optional
        Such as {"knee": 0.5} for "huber".
    curvature : float, optional
        Delta, for the sum of losses; larger is more bias and less noise. Left out, it balances both for a usual data
        set of this size (`dperm.mechanisms.balanced`), or is 2 lambda/epsilon with calibration="paper". With
        `clip=True` at least lambda/100.
    n_public : int, optional
        A public number of records, or a guess, for the default `curvature`; accuracy alone depends on it. Left out, it
        is n under "replace"; under "add_remove", where n is private, 1 % of epsilon pays for a noisy count.
    l1, l2 : float, default=0.0
        Weights of ||theta||_1 and of ||theta||^2/2 in r, beside the sum of losses: lasso, ridge, elastic net.
    regularizer : callable, optional
        A further convex part of r: maps the coefficients, a cvxpy expression of shape (p,) without the intercept, to a
        scalar cvxpy expression (docs/regularizers.md).
    radius : float, default=inf
        F: ||theta||_2 <= radius.
    low, high : float, default=-inf, inf
        F: low <= theta <= high in every coordinate. A box without 0 has to be within 1e30 of it, and with `clip` near
        enough for the solver: the message says how near.
    constraints : callable, optional
        F: maps the coefficients, as for `regularizer`, to a list of cvxpy constraints.
    calibration : {"tight", "paper", "separate"}, default="tight"
        "separate", for comparison, knows nothing of how the logistic loss ties force and curvature: more noise.
    neighbours : {"add_remove", "replace"}, default="add_remove"
        The paper's Definition 1 is add/remove. A `curvature` that depends on n is allowed under "replace" only.
    x_norm : float, default=1.0
        Public bound R on the rows' l2 norm.
    y_bound : float, optional
        Public bound on |y|, from 1e-30 to 1e30, for "squared" and "poisson"; where it is given, also for "huber".
    weight_bound : float, optional
        Public bound W on the sample weights of `fit`, which takes none without it. A record may then pull W times as
        hard, and the noise is W times as strong beside one that counts once; zeta and lambda are W times as large.
    fit_intercept : bool, default=False
        Append a constant feature 1; the rows' bound becomes sqrt(R^2 + 1). The intercept is under Delta, `l1`, `l2`,
        `radius`, `low` and `high` like the rest; `regularizer` and `constraints` do not see it.
    clip : bool, default=False
        Scale longer rows down to `x_norm`, and bring targets into their domain ([0, `y_bound`] for "poisson"), instead
        of raising: with declared `classes` (or real targets) no record makes `fit` fail or warn (docs/privacy.md,
        section 1). Refused with `regularizer` or `constraints`, for nobody can promise that of cvxpy's solver.
    classes : tuple of two labels, optional
        Public (negative, positive) labels. Left out, they are taken from y with a `PrivacyLeakWarning`.
    tolerance : float, optional
        The solver's public target: a distance of at most tolerance zeta/Delta from the minimiser.
        Left out, 1e-9 with a solver share, 1e-3 where cvxpy solves, else 1e-6.
    solver_share : float, optional
        Share of the budget spent on hiding the solver's error; above 0 the statement is `proved`, at 0 `proved_exact`.
        Left out, 0.001, and 0 with calibration="paper" or where cvxpy solves.
    release : bool, default=False
        True is refused: the noise of this mechanism cannot be made safe against floating point (`fit` says why).
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
        Where the noise is as strong as n records: n under "replace", else `n_public`; without either there is no such
        criterion (`dperm.mechanisms.vacuous`).

    References
    ----------
    kifer2012, Algorithm 1, Theorems 1 and 2; errata K1, K2, K3, K8.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import ObjectivePerturbation
    >>> X = np.array([[0.6, 0.0], [0.0, 0.8], [-0.5, 0.1], [0.1, -0.7]] * 50)
    >>> y = np.array([1, 1, 0, 0] * 50)
    >>> model = ObjectivePerturbation(epsilon=2.0, delta=1e-6, classes=(0, 1), random_state=0).fit(X, y)
    >>> model.privacy_.guarantee
    'proved'
    >>> lasso = ObjectivePerturbation(loss="squared", l1=5.0, radius=1.0, y_bound=1.0, epsilon=2.0, random_state=0)
    >>> lasso.fit(X, X[:, 0]).coef_.shape
    (2,)
    """

    source = "kifer2012, Algorithm 1, Theorem 2"
    _takes_sparse = True
    unproved = "the printed noise is made for one record's gradient, and replacing a record changes two (erratum K3)"

    curvature: float | None = None
    n_public: float | None = None
    l1: float = 0.0
    l2: float = 0.0
    regularizer: Callable[[Any], Any] | None = None
    radius: float = math.inf
    low: float = -math.inf
    high: float = math.inf
    constraints: Callable[[Any], Any] | None = None
    y_bound: float | None = None
    tolerance: float | None = None
    solver_share: float | None = None

    def _region(self):
        return Region(self.radius, self.low, self.high, self._of_coefficients(self.constraints))

    def _regularizer(self):
        return Regularizer(self.l1, self.l2, self._of_coefficients(self.regularizer))

    def _by_cvxpy(self):
        return composite.kind(self._regularizer(), self._region()) == "general"

    def _share(self):
        printed = self.calibration == "paper"
        return share_or_default(self.solver_share, printed=printed, coverable=not self._by_cvxpy())

    def _of_coefficients(self, function):
        """Return a function of theta, whose last entry is the intercept if there is one, for one of coefficients."""
        if function is None or not self.fit_intercept:
            return function
        return lambda theta: function(theta[:-1])

    def _check_bounds(self, loss, domain):
        # What is no regularizer is blamed before the data are looked at.
        self._regularizer()
        if self.clip and self._by_cvxpy():
            raise ValueError(
                "clip=True promises that no record makes fit fail, and nobody can promise that of what cvxpy solves "
                "(`regularizer`, `constraints`); leave clip=False and move rows and targets into their bounds before "
                "fit, or say it with `l1`, `l2`, `radius`, `low` and `high`"
            )
        # Whether the set is bounded does not depend on the number of features.
        bounds(loss, searched(domain, self._region(), 1))

    def _check_release(self):
        raise ReleaseError(
            "release=True: objective perturbation cannot be released safely. Its noise enters a convex problem as a "
            "real vector, and what comes out is a function of it in floating point: no grid and no noise added "
            "afterwards makes the tilt itself exact; take OutputPerturbation(release=True)"
        )

    def _release(self, X, y, loss, domain, rng, weights=None):
        loss, within = self._weighing(loss), searched(domain, self._region(), X.shape[1])
        records = X, y, weights
        # What is impossible for all of epsilon is named so.
        curvature_or_default(self.curvature, loss, within, self.epsilon)
        if self.curvature is not None or self.calibration == "paper":
            tilting = self.epsilon * (1 - checked_share(self._share()))
            known = curvature_or_default(self.curvature, loss, within, tilting)
            self._check_nearness(known, loss, within, X.shape[1])
            return self._of_curvature(self.curvature, Budget(self.epsilon, self.delta), records, loss, domain, rng)
        n, budget = self._count(X.shape[0], rng)

        def balancing(n):
            return balanced.balanced_curvature(
                loss,
                within,
                budget.share(1 - checked_share(self._share())),
                n=n,
                p=X.shape[1],
                neighbours=self.neighbours,
                steepest=STEEPEST,
                declared=budget,
            )

        try:
            # The curvature falls with the number of records; where that is noisy, what is refused must not hang on it.
            counted = self.n_public is None and self.neighbours == "add_remove"
            self._check_nearness(balancing(1 if counted else n), loss, within, X.shape[1])
            return self._of_curvature(balancing(n), budget, records, loss, domain, rng)
        except InvalidBudget as error:
            if budget.epsilon == self.epsilon:
                raise
            raise InvalidBudget(
                f"{error}; of epsilon={self.epsilon:g} counting the records leaves {budget.epsilon:g}, and `n_public` "
                "or `curvature` all"
            ) from error

    def _check_nearness(self, curvature, loss, within, features):
        """Refuse a box that is too far from 0, where no record may make `fit` fail."""
        region = self._region()
        if self.clip and region.nearest(features) > 0:
            modulus = max(curvature, self._regularizer().l2)
            tolerance = aimed(self.tolerance, self._share())
            check_nearness(region.nearest(features), modulus, bounds(loss, within)[0], tolerance)

    def _count(self, n, rng):
        """Return a number of records that may be known, and the budget that it leaves."""
        budget = Budget(self.epsilon, self.delta)
        if self.n_public is not None:
            remedy = "it is a guess of the number of records"
            return number("n_public", self.n_public, 1, MOST, ends="[]", remedy=remedy), budget
        if self.neighbours == "replace":
            return n, budget
        counted = balanced.COUNT_SHARE * budget.epsilon
        return balanced.noisy_count(n, counted, rng), Budget(budget.epsilon - counted, budget.delta)

    def _of_curvature(self, curvature, budget, records, loss, domain, rng):
        """Release at this Delta; the statement's event is of the whole budget."""
        X, y, weights = records
        if self.clip:
            within, tilting = searched(domain, self._region(), X.shape[1]), 1 - checked_share(self._share())
            check_steepness(loss, within, curvature, budget.epsilon * tilting, STEEPEST)
        features, columns = X.shape[1], None
        if issparse(X):
            X, columns = self._dense(X)
        release = objective.release(
            X,
            y,
            loss,
            domain=domain,
            budget=budget,
            neighbours=self.neighbours,
            calibration=self.calibration,
            curvature=curvature,
            rng=rng,
            tolerance=self.tolerance,
            solver_share=self._share(),
            regularizer=self._regularizer(),
            region=self._region(),
            features=features,
            columns=columns,
            weights=weights,
        )
        return replace(release, event=budget_event(Budget(self.epsilon, self.delta)))

    def _dense(self, X):
        """Return X as an array, and where it would be a large one the places of the columns that it is left with."""
        smooth = composite.kind(self._regularizer(), self._region()) == "smooth"
        if max(X.shape) * X.shape[1] <= LARGE or not smooth:
            return X.toarray(), None
        # With one at least, for the solver.
        columns = np.unique(np.append(X.indices, 0))
        return X[:, columns].toarray(), columns
