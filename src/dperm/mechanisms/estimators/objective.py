"""Objective perturbation as a scikit-learn estimator."""

from dperm.domain import Budget
from dperm.errors import ReleaseError
from dperm.mechanisms import objective
from dperm.mechanisms.estimators.linear import LinearEstimator


class ObjectivePerturbation(LinearEstimator):
    r"""Private linear model by objective perturbation.

    Minimises sum_i l(<x_i, theta>, y_i) + Delta/2 ||theta||^2 + <b, theta> with a random b; the mathematics and its
    calibrations stand in `dperm.mechanisms.objective`, the proofs in docs/privacy.md.

    Parameters
    ----------
    epsilon : float, default=1.0
        Above 0.
    delta : float, default=0.0
        In [0, 1); 0 draws b from the spherical Laplace ("gamma") law, else Gaussian.
    loss : {"logistic", "huber", "smoothed_hinge"}, default="logistic"
        "huber" is regression, the others are binary classification.
    loss_parameters : dict, optional
        Such as {"knee": 0.5} for "huber".
    curvature : float, optional
        Delta, for the sum of losses; default 2 lambda/epsilon, of the epsilon that `solver_share` leaves. Larger is
        more bias and less noise.
    calibration : {"tight", "paper"}, default="tight"
    neighbours : {"add_remove", "replace"}, default="add_remove"
        The paper's Definition 1 is add/remove. A `curvature` that depends on n is allowed under "replace" only.
    x_norm : float, default=1.0
        Public bound R on the rows' l2 norm.
    fit_intercept : bool, default=False
        Append a constant feature 1; the radius becomes sqrt(R^2 + 1), and the intercept is regularised like the rest.
    clip : bool, default=False
        Scale longer rows down to `x_norm` instead of raising.
    classes : tuple of two labels, optional
        Public (negative, positive) labels. Left out, they are taken from y with a `PrivacyLeakWarning`.
    tolerance : float, default=1e-6
        The solver's public target: ||gradient|| <= tolerance zeta.
    solver_share : float, default=0.0
        Share of the budget spent on hiding the solver's error; above 0 the statement is `proved`.
    release : bool, default=False
        True is refused: the noise of this mechanism cannot be made safe against floating point (`fit` says why).
    random_state : int, Generator, RandomState or None, default=None
        None draws from the operating system. A seeded release is for science only.

    Attributes
    ----------
    coef_, intercept_
        As in scikit-learn.
    privacy_ : PrivacyStatement
    certificate_ : float
        Upper bound on the distance ||theta - theta*||_2 of the solver's point from the exact minimiser.

    References
    ----------
    kifer2012, Algorithm 1 and Theorem 2; errata K1, K2, K3, K8.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import ObjectivePerturbation
    >>> X = np.array([[0.6, 0.0], [0.0, 0.8], [-0.5, 0.1], [0.1, -0.7]] * 50)
    >>> y = np.array([1, 1, 0, 0] * 50)
    >>> model = ObjectivePerturbation(epsilon=2.0, delta=1e-6, classes=(0, 1), random_state=0).fit(X, y)
    >>> model.privacy_.guarantee
    'proved_exact'
    """

    source = "kifer2012, Algorithm 1, Theorem 2"

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
        solver_share=0.0,
        release=False,
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
        self.solver_share = solver_share
        self.release = release
        self.random_state = random_state

    def _check_release(self):
        raise ReleaseError(
            "release=True: objective perturbation cannot be released safely. Its noise enters a convex problem as a "
            "real vector, and what comes out is a function of it in floating point: no grid and no noise added "
            "afterwards makes the tilt itself exact; take OutputPerturbation(release=True)"
        )

    def _release(self, X, y, loss, domain, rng):
        return objective.release(
            X,
            y,
            loss,
            domain=domain,
            budget=Budget(self.epsilon, self.delta),
            neighbours=self.neighbours,
            calibration=self.calibration,
            curvature=self.curvature,
            rng=rng,
            tolerance=self.tolerance,
            solver_share=self.solver_share,
        )
