"""The test data independent learner as a scikit-learn estimator."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dperm import kernels
from dperm.domain import Mended, number, one_of
from dperm.mechanisms.estimators.interactive import check_radius, warn_vacuous, with_radius
from dperm.mechanisms.estimators.kernel import KernelEstimator, public_points
from dperm.mechanisms.kernel import tddl, tdil


@dataclass(eq=False, repr=False, kw_only=True)
class TDIL(KernelEstimator):
    r"""Private kernel model made by asking where it is most wrong (test data independent learner).

    The minimiser w* of sum_i l(<w, phi(x_i)>, y_i) + ||w||^2/(2 C) is approached in rounds: the exponential mechanism
    finds a point where the model so far differs from it, and a noisy answer there moves the model. Mathematics and
    calibrations stand in `dperm.mechanisms.kernel.tdil_constants`, the proofs in docs/privacy.md. With a linear kernel
    the points come from the whole ball; any other kernel needs a finite public set, by default a net of the ball, which
    takes few dimensions.

    Parameters
    ----------
    epsilon : float, default=1.0
        Above 0.
    delta : float, default=1e-6
        In (0, 1).
    loss : {"hinge", "logistic", "huber"}, default="hinge"
        "huber" is regression, the others binary; "squared" is refused, since its slope has no bound (erratum J11).
    loss_parameters : dict, optional
        Such as {"knee": 0.5} for "huber".
    C : float, default=0.001
        Weight of the sum of losses beside ||w||^2/2, as LibSVM's: n lambda = 1/C. Larger is less bias and more noise.
        It must not depend on the data, under add/remove not on their number either.
    kernel : {"linear", "poly", "rbf"}, Kernel or callable, default="linear"
        A callable maps rows (n, d) and (m, d) to (n, m) and needs `feature_norm`.
    degree, coef0, gamma : int, float and float, default=3, 1.0, 1.0
        Of "poly": (<x, v> + coef0)^degree; of "rbf": exp(-gamma ||x - v||^2). Public.
    feature_norm : float, optional
        Public bound R on sqrt(K(x, x)), of a callable kernel.
    public : array_like or CSR, shape (m, d), optional
        The finite set S of a kernel that is not "linear" (refused there); it is published. The promise holds whatever
        the points are, as long as they were not chosen by the training data; whether a training row is among them is
        not checked, for a check would tell. Left out, a `nu`-net of the ball ||z||_2 <= `x_norm`.
    nu : float, default=0.5
        Width of the net, in units of `x_norm`; it has about (4/nu)^d points, 10^6 at most.
    beta : float, default=0.05
        In (0, 1): failure probability in sigma.
    radius : float, optional
        Public C of the paper: ||w*|| <= radius. Left out, the a-priori radius (erratum J10), which needs a public n and
        so neighbours="replace".
    calibration : {"tight", "corrected", "paper"}, default="tight"
        As printed there is no guarantee, as a rule (erratum J1), and n is asked for: not under add/remove.
    neighbours : {"replace", "add_remove"}, default="replace"
        The paper's are replace-one.
    x_norm : float, default=1.0
        Public bound on the rows' l2 norm, for "linear" and "poly"; radius of the net.
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
    coef_, intercept_
        Of a linear kernel, as in scikit-learn.
    dual_coef_ : ndarray, shape (m,)
        Of any other kernel: the released w is sum_i a_i phi(z_i) over `public_`.
    public_ : ndarray or CSR, shape (m, d)
        S, unless the kernel is linear.
    constants_ : dperm.mechanisms.kernel.tdil_constants.Constants
        B, sigma and whether they are `vacuous` (then `fit` and every prediction warn).
    privacy_ : PrivacyStatement

    References
    ----------
    jain2013, Algorithm 3, Theorems 7 and 8; errata J1, J3, J5, J8 to J11, J16.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import TDIL
    >>> X = np.array([[0.6, 0.0], [0.0, 0.8], [-0.5, 0.1], [0.1, -0.7]] * 50)
    >>> y = np.array([1, 1, 0, 0] * 50)
    >>> model = TDIL(epsilon=2.0, C=0.01, classes=(0, 1), random_state=0).fit(X, y)
    >>> model.privacy_.guarantee
    'proved'
    """

    unproved = "total/(L R^2) stands twice in the exponent of calibration='paper', and is too large here (erratum J1)"
    source = "jain2013, Algorithm 3, Theorem 7; docs/privacy.md, section 11"

    kernel: Any = "linear"
    public: Any = None
    nu: float = 0.5
    beta: float = 0.05
    radius: float | None = None

    def _covers(self):
        return ("coef_", "intercept_") if self._is_linear() else ("dual_coef_",)

    def _check_declared(self, setting, budget):
        one_of("calibration", self.calibration, Mended)
        number("nu", self.nu, 0, math.inf, remedy="it is the net's width in units of x_norm; 0.5 is usual")
        if self.public is not None and self._is_linear():
            raise ValueError(
                "public is given, but kernel='linear' asks anywhere in the ball ||z|| <= x_norm, and would not look "
                "at it; leave it out, or take kernel=dperm.kernels.linear(x_norm), which asks at public points alone"
            )
        check_radius(setting, self.radius)
        self._constants(replace(setting, radius=self.radius or 1.0), budget, 1, 1)

    def _constants(self, setting, budget, n, d):
        return tdil.constants(
            setting, budget, records=n, dimension=d, beta=self.beta, calibration=self.calibration
        )  # fmt: skip

    def _is_linear(self) -> bool:
        return self.kernel == "linear"

    def _points(self, X):
        """Return S; whether rows of X are among the user's own is not looked at, for an error would tell."""
        d = X.shape[1]
        return self.x_norm * tdil.net(d, self.nu) if self.public is None else public_points(self.public, d)

    def _start(self, X, y, made, exact, loss, setting, budget, rng):
        n, d = X.shape
        setting = with_radius(setting, self.radius, loss, n)
        # Only the printed constants look at n, where it is public.
        n = max(n, 1)
        if self._is_linear():
            self.constants_ = self._constants(setting, budget, n, d + bool(self.fit_intercept))
            warn_vacuous("TDIL", self.constants_, 4)
            # w* itself, in the coordinates of x and of the constant feature.
            constant = exact(np.zeros((1, d))) if self.fit_intercept else np.zeros(1)
            target = exact(np.eye(d)) - constant
            target = np.append(target, constant) if self.fit_intercept else target
            w = tdil.run_linear(self.constants_, setting, target, rng=rng).w[0]
            weights, intercept = (w[:-1], w[-1]) if self.fit_intercept else (w, 0.0)
            binary = loss.targets == "binary"
            self.coef_ = weights[None, :] if binary else weights
            self.intercept_ = np.array([intercept]) if binary else float(intercept)
            return self.constants_
        self.public_ = self._points(X)
        spectrum = tddl.spectrum(kernels.gram(made, self.public_))
        kept = spectrum.values > 0
        roots = np.sqrt(spectrum.values[kept])
        # How many directions of feature space S takes up: d for a uniform ball under a linear kernel, and public.
        directions = math.ceil(spectrum.values.sum() ** 2 / (spectrum.values**2).sum())
        self.constants_ = self._constants(setting, budget, n, directions)
        warn_vacuous("TDIL", self.constants_, 4)
        found = tdil.run(
            self.constants_, setting, spectrum.vectors[:, kept] * roots, exact(self.public_), rng=rng
        )  # fmt: skip
        self.dual_coef_ = spectrum.vectors[:, kept] @ (found.w[0] / roots)
        return self.constants_

    def _margin(self, X):
        X = self._queries(X)
        warn_vacuous("TDIL", self.constants_, 3)
        if self._is_linear():
            return np.asarray(X @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0])
        return self._kernel()(X, self.public_) @ self.dual_coef_
