"""The test data dependent learner as a scikit-learn estimator."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dperm import kernels
from dperm.domain import Mended, integer, one_of
from dperm.errors import DomainViolation
from dperm.mechanisms.estimators.interactive import check_radius, with_radius
from dperm.mechanisms.estimators.kernel import KernelEstimator, public_points
from dperm.mechanisms.kernel import tddl

# T where no public points are given.
_USUAL = 300


@dataclass(eq=False, repr=False, kw_only=True)
class TDDL(KernelEstimator):
    r"""Private kernel model fitted to noisy answers on public points (test data dependent learner).

    The minimiser w* of sum_i l(<w, phi(x_i)>, y_i) + ||w||^2/(2 C) answers T public points with noise, and what is
    released is the w in the ball that fits these answers best, by its coefficients on the public points. Mathematics
    and calibrations stand in `dperm.mechanisms.kernel.tddl`, the proofs in docs/privacy.md.

    Parameters
    ----------
    epsilon : float, default=1.0
        Above 0.
    delta : float, default=1e-6
        In [0, 1); 0 (not with "tight") composes the answers purely.
    loss : {"hinge", "smoothed_hinge", "logistic", "huber"}, default="hinge"
        "huber" is regression, the others binary; "squared" is refused, since its slope has no bound (erratum J11).
    loss_parameters : dict, optional
        Such as {"knee": 0.5} for "huber".
    C : float, default=0.001
        Weight of the sum of losses beside ||w||^2/2, as LibSVM's: n lambda = 1/C. Larger is less bias and more noise.
        It must not depend on the data, under add/remove not on their number either.
    kernel : {"linear", "poly", "rbf"}, Kernel or callable, default="rbf"
        A callable maps rows (n, d) and (m, d) to (n, m) and needs `feature_norm`.
    degree, coef0, gamma : int, float and float, default=3, 1.0, 1.0
        Of "poly": (<x, v> + coef0)^degree; of "rbf": exp(-gamma ||x - v||^2). Public.
    feature_norm : float, optional
        Public bound R on sqrt(K(x, x)), of a callable kernel.
    public : array_like, shape (T, d), optional
        Public points Z, best from where predictions are wanted; they are published. The promise holds whatever they
        are, as long as they were not chosen by the training data; whether a training row is among them is not checked,
        for a check would tell. Left out, `n_public` points are drawn uniformly from the ball ||z||_2 <= `x_norm`.
    n_public : int, default=300
        T where `public` is left out.
    radius : float, optional
        Public C of the paper: ||w|| <= radius. Left out, the a-priori radius (erratum J10), which needs a public n and
        so neighbours="replace".
    calibration : {"tight", "corrected", "paper"}, default="tight"
    neighbours : {"replace", "add_remove"}, default="replace"
        The paper's are replace-one.
    x_norm : float, default=1.0
        Public bound on the rows' l2 norm, for "linear" and "poly". ("rbf" needs none.)
    fit_intercept : bool, default=False
        Append a constant feature 1, regularised like the rest: R becomes sqrt(R^2 + 1) (erratum J8).
    clip : bool, default=False
        Scale longer rows down to `x_norm` ("linear" and "poly"), and bring every other record into its domain, instead
        of raising: with declared `classes` (or real targets) no record can make `fit` fail or warn.
    classes : tuple of two labels, optional
        Public (negative, positive) labels. Left out, they are taken from y with a `PrivacyLeakWarning`.
    tolerance : float, default=0.05
        In [1e-12, 1]: the solver's public target is ||w - w*|| <= tolerance Delta_w, which the noise covers.
    random_state : int, Generator, RandomState or None, default=None
        None draws from the operating system. A seeded release is for science only.

    Attributes
    ----------
    dual_coef_ : ndarray, shape (T,)
        a: the released w is sum_t a_t phi(z_t).
    public_ : ndarray or CSR, shape (T, d)
        Z.
    norm_ : float
        ||w||.
    privacy_ : PrivacyStatement

    References
    ----------
    jain2013, Algorithm 2, Theorem 4; errata J6, J8 to J12.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import TDDL
    >>> X = np.array([[0.6, 0.0], [0.0, 0.8], [-0.5, 0.1], [0.1, -0.7]] * 50)
    >>> y = np.array([1, 1, 0, 0] * 50)
    >>> model = TDDL(epsilon=2.0, C=0.01, public=X[:4] * 0.9, classes=(0, 1), random_state=0).fit(X, y)
    >>> model.privacy_.guarantee
    'proved'
    """

    source = "jain2013, Algorithm 2, Theorem 4; docs/privacy.md, section 11"

    public: Any = None
    n_public: int = _USUAL
    radius: float | None = None

    def _covers(self):
        return "dual_coef_", "norm_"

    def _check_declared(self, setting, budget):
        one_of("calibration", self.calibration, Mended)
        integer("n_public", self.n_public, 1, f"{_USUAL} is usual")
        check_radius(setting, self.radius, bounded=False)
        T = self.n_public if self.public is None else public_points(self.public).shape[0]
        tddl.scale(setting, budget, T, self.calibration)

    def _points(self, X, rng):
        """Return Z; whether rows of X are among them is not looked at, for an error would tell."""
        d = X.shape[1]
        if self.public is not None:
            return public_points(self.public, d)
        if 8 * self.n_public * d > kernels.MEMORY:
            few = 8 * _USUAL * d <= kernels.MEMORY
            remedy = f"take fewer, {_USUAL} is usual" if few else "give sparse ones of your own as public="
            raise DomainViolation(
                f"n_public={self.n_public} points in {d} columns need {8 * self.n_public * d / 1e6:,.0f} MB; {remedy}"
            )
        # They are released, so without a seed the generator of the noise has no part in them: its words would show.
        own = rng if self.random_state is not None else np.random.default_rng()
        Z = own.standard_normal((self.n_public, d))
        lengths = self.x_norm * own.random(self.n_public) ** (1 / d)
        return Z * (lengths / np.linalg.norm(Z, axis=1))[:, None]

    def _start(self, X, y, made, exact, loss, setting, budget, rng):
        self.public_ = self._points(X, rng)
        spectrum = tddl.spectrum(kernels.gram(made, self.public_))
        setting = with_radius(setting, self.radius, loss, X.shape[0])
        release = tddl.release(
            spectrum, exact(self.public_), setting, budget, calibration=self.calibration, rng=rng
        )  # fmt: skip
        self.dual_coef_, self.norm_ = release.coefficients[0], float(release.norm[0])
        return release

    def _margin(self, X):
        return self._kernel()(self._queries(X), self.public_) @ self.dual_coef_
