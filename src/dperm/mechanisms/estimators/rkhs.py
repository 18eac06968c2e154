"""One Gaussian path over the predictions of a kernel model, as a scikit-learn estimator."""

from dataclasses import dataclass
from os import PathLike

from dperm.mechanisms.estimators.kernel import KernelEstimator
from dperm.mechanisms.estimators.model import answering
from dperm.mechanisms.estimators.whole import ignoring_numpy_errors
from dperm.mechanisms.kernel.constants import sigma
from dperm.mechanisms.kernel.rkhs import Path


@dataclass(eq=False, repr=False, kw_only=True)
class RKHSGaussian(KernelEstimator):
    r"""Private kernel model that answers any number of adaptive queries on one Gaussian path.

    The minimiser w* of sum_i l(<w, phi(x_i)>, y_i) + ||w||^2/(2 C) is released as w* + a Gaussian process with the
    kernel's covariance; every prediction is a value of it, drawn when it is first asked for, given all that was
    answered before. A repeated query gets its first answer again and costs nothing. The mathematics
    stands in `dperm.mechanisms.kernel.rkhs`, the proof in docs/privacy.md.

    The fitted object holds w* and the training rows: keep it in the house. What its methods return is private. Threads
    take turns. Copies of it (pickle, copy, deepcopy, joblib) and forked processes would be second releases, and are
    refused; with `state` they share one path.

    Parameters
    ----------
    epsilon : float, default=1.0
        Above 0; spent as a whole, whatever is asked.
    delta : float, default=1e-6
        In (0, 1).
    loss : {"hinge", "smoothed_hinge", "logistic", "huber"}, default="hinge"
        "huber" is regression, the others binary; "squared" is refused, since its slope has no bound (erratum J11).
    loss_parameters : dict, optional
        Such as {"knee": 0.5} for "huber".
    C : float, default=0.001
        Weight of the sum of losses beside ||w||^2/2, as LibSVM's: n lambda = 1/C. Larger is less bias and more noise.
        It must not depend on the data, under add/remove not on their number either.
    kernel : {"linear", "poly", "rbf"}, Kernel or callable, default="rbf"
        A callable maps rows (n, d) and (m, d) to (n, m) and needs `feature_norm`. It must be positive semidefinite;
        queries that show that it is not are refused.
    degree, coef0, gamma : int, float and float, default=3, 1.0, 1.0
        Of "poly": (<x, v> + coef0)^degree; of "rbf": exp(-gamma ||x - v||^2). Public.
    feature_norm : float, optional
        Public bound R on sqrt(K(x, x)), of a callable kernel.
    calibration : {"tight"}, default="tight"
    neighbours : {"replace", "add_remove"}, default="replace"
        The paper's are replace-one.
    x_norm : float, default=1.0
        Public bound on the l2 norm of rows and queries, for "linear" and "poly". ("rbf" needs none.)
    fit_intercept : bool, default=False
        Append a constant feature 1, regularised like the rest: R becomes sqrt(R^2 + 1) (erratum J8).
    clip : bool, default=False
        Scale longer rows and queries down to `x_norm` ("linear" and "poly"), and bring every other record into its
        domain, instead of raising: with declared `classes` (or real targets) no record can make `fit` fail or warn.
    classes : tuple of two labels, optional
        Public (negative, positive) labels. Left out, they are taken from y with a `PrivacyLeakWarning`.
    tolerance : float, default=0.05
        In [1e-12, 1]: the solver's public target is ||w - w*|| <= tolerance Delta_w, which the noise covers.
    state : path-like or URL, optional
        A journal of the path, which outlives this object: a fit on the same records goes on with it, another is
        refused. It is as private as the records. Noise is fresh then, whatever the seed.
        A file, or a database: `sqlite:///path`, `postgresql://host/database` (`dperm.mechanisms.stores`).
    random_state : int, Generator, RandomState or None, default=None
        None draws from the operating system. A seeded release is for science only.

    Attributes
    ----------
    path_ : Path
        The path so far.
    privacy_ : PrivacyStatement
        Of all answers together.

    References
    ----------
    jain2013, equation (3); errata J8, J9, J12.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import RKHSGaussian
    >>> X = np.array([[0.6, 0.0], [0.0, 0.8], [-0.5, 0.1], [0.1, -0.7]] * 50)
    >>> y = np.array([1, 1, 0, 0] * 50)
    >>> model = RKHSGaussian(epsilon=2.0, C=0.01, classes=(0, 1), random_state=0).fit(X, y)
    >>> first, again = model.decision_function(X[:1]), model.decision_function(X[:4])
    >>> bool(first[0] == again[0])
    True
    """

    source = "jain2013, equation (3), erratum J12; docs/privacy.md, section 11"
    gaussian = True

    state: str | PathLike | None = None

    def _covers(self):
        return answering(self)

    def _check_declared(self, setting, budget):
        if self.calibration != "tight":
            raise ValueError(f"calibration={self.calibration!r}: this mechanism is ours, and offers 'tight' alone")
        sigma(setting, budget)

    def _start(self, X, y, made, exact, loss, setting, budget, rng):
        self.path_ = Path(made, setting, budget, rng, serving=self._turns(X, y, exact), exact=exact)
        return self.path_

    def __getstate__(self):
        if hasattr(self, "path_"):
            self.path_.serving.alone()
        return super().__getstate__()

    def _margin(self, X):
        X = self._bounded(self._queries(X), self._kernel())
        # Of the path's own fit, whatever is fitted meanwhile.
        path = self.path_
        with ignoring_numpy_errors(self):
            return path.answer(X, path.exactly(X))
