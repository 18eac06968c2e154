"""Private interactive prediction as a scikit-learn estimator."""

import math
import warnings
from dataclasses import dataclass, replace
from os import PathLike

import numpy as np

from dperm.domain import Mended, one_of
from dperm.errors import DomainViolation, VacuousWarning
from dperm.mechanisms.estimators.kernel import KernelEstimator
from dperm.mechanisms.estimators.model import answering
from dperm.mechanisms.estimators.whole import ignoring_numpy_errors, one_fit
from dperm.mechanisms.kernel import pinp
from dperm.mechanisms.kernel.constants import Setting, a_priori_radius
from dperm.mechanisms.kernel.dialogue import Answers, Dialogue


def check_radius(setting: Setting, radius: float | None, *, bounded: bool = True) -> None:
    """Raise DomainViolation for a public radius C that is wrong, or missing where n is private."""
    if radius is not None:
        replace(setting, radius=radius)
        if bounded and math.isinf(radius):
            raise DomainViolation(
                "radius=inf: B and sigma need a public bound on ||w*||; leave it out for a-priori one"
            )
    elif setting.neighbours == "add_remove":
        none = "" if bounded else " (math.inf for none)"
        raise DomainViolation(
            "radius=None takes the a-priori radius, which depends on the number of records, and that is private "
            f"under neighbours='add_remove'; declare a public radius{none}, or take 'replace'"
        )


def with_radius(setting: Setting, radius: float | None, loss, n: int) -> Setting:
    """Return the setting with the declared radius, or else the a-priori one (erratum J10), which takes a public n."""
    if radius is None:
        at_zero = float(loss.value(0.0, np.array([-1.0, 1.0])).max()) if loss.targets == "binary" else math.inf
        radius = a_priori_radius(at_zero, setting.lipschitz, setting.feature_norm, setting.total, n)
    return replace(setting, radius=radius)


def warn_vacuous(name: str, constants, stacklevel: int) -> None:
    """Warn with B and sigma of a run of `pinp` or `tdil` that promises nothing; `name`: of the estimator."""
    if constants.vacuous:
        warnings.warn(
            f"{name}: {constants}. Its predictions are noise or silence; raise `epsilon`, lower `C`, take more "
            "records, or RKHSGaussian, which needs fewer",
            VacuousWarning,
            stacklevel=stacklevel + 1,
        )


@dataclass(eq=False, repr=False, kw_only=True)
class PINP(KernelEstimator):
    r"""Private kernel model that learns from its users' queries (private interactive non-linear prediction).

    The minimiser w* of sum_i l(<w, phi(x_i)>, y_i) + ||w||^2/(2 C) answers a query itself, with noise, where a model
    w_t made of earlier answers is found to be wrong, and w_t answers where it is not; so only B answers are paid for.
    Mathematics and calibrations stand in `dperm.mechanisms.kernel.pinp_constants`, the proofs in docs/privacy.md. It
    protects the training data alone: what it answers reveals earlier queries.

    Answers depend on the order of the queries; a row that was asked before gets its first answer again. The fitted
    object holds w* and the training rows: keep it in the house. What its methods return is private. Threads take turns.
    Copies of it (pickle, copy, deepcopy, joblib) and forked processes would be second releases, and are refused; with
    `state` they share one run.

    Parameters
    ----------
    epsilon : float, default=1.0
        Above 0; spent as a whole, whatever is asked.
    delta : float, default=1e-6
        In (0, 1).
    loss : {"hinge", "logistic", "huber"}, default="hinge"
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
    queries : int, default=10000
        T: for how many queries the error is promised. More are answered, and as private.
    beta : float, default=0.05
        In (0, 1): how often an answer may be off by more than 5 sigma/4.
    radius : float, optional
        Public C of the paper: ||w*|| <= radius. Left out, the a-priori radius (erratum J10), which needs a public n and
        so neighbours="replace".
    calibration : {"tight", "corrected", "paper"}, default="tight"
        "paper" halts after B updates (`BudgetExhausted`); the others then answer from the frozen model.
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
        A journal of the run, which outlives this object: a fit on the same records goes on with it, another is refused.
        It is as private as the records. Noise is fresh then, whatever the seed.
        A file, or a database: `sqlite:///path`, `postgresql://host/database` (`dperm.mechanisms.stores`).
    random_state : int, Generator, RandomState or None, default=None
        None draws from the operating system. A seeded release is for science only.

    Attributes
    ----------
    constants_ : dperm.mechanisms.kernel.pinp_constants.Constants
        B, sigma, the error that is promised, and whether that is `vacuous` (then `fit` and every prediction warn).
    dialogue_ : Dialogue
        What was asked and answered so far; `dialogue_.frozen` once the model learns no more.
    privacy_ : PrivacyStatement
        Of all answers together.

    References
    ----------
    jain2013, Algorithm 1, Theorems 2 and 3; errata J1 to J5, J8 to J11.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import PINP
    >>> X = np.array([[0.6, 0.0], [0.0, 0.8], [-0.5, 0.1], [0.1, -0.7]] * 50)
    >>> y = np.array([1, 1, 0, 0] * 50)
    >>> model = PINP(epsilon=500.0, C=0.01, classes=(0, 1), queries=100, random_state=0).fit(X, y)
    >>> print(model.constants_)
    B=49.5, sigma=0.543: answers within 0.679
    >>> model.predict_details(X[:2]).updated
    array([False, False])
    """

    unproved = "B < 1, and calibration='paper' lets one update through at a noise made for B of them (erratum J3)"
    source = "jain2013, Algorithm 1, Theorem 2; docs/privacy.md, section 11"

    queries: int = 10_000
    beta: float = 0.05
    radius: float | None = None
    state: str | PathLike | None = None

    def _covers(self):
        return answering(self)

    def _check_declared(self, setting, budget):
        one_of("calibration", self.calibration, Mended)
        check_radius(setting, self.radius)
        self._constants(replace(setting, radius=self.radius or 1.0), budget)

    def _constants(self, setting, budget):
        return pinp.constants(
            setting, budget, queries=self.queries, beta=self.beta, calibration=self.calibration
        )  # fmt: skip

    def _start(self, X, y, made, exact, loss, setting, budget, rng):
        self.constants_ = self._constants(with_radius(setting, self.radius, loss, X.shape[0]), budget)
        self.dialogue_ = Dialogue(self.constants_, made, exact, rng, serving=self._turns(X, y, exact))
        warn_vacuous("PINP", self.constants_, 4)
        return self.constants_

    def predict_details(self, X) -> Answers:
        """Answer queries in their order, and say how each was answered.

        Parameters
        ----------
        X : array_like or CSR, shape (m, d)
            Rows with sqrt(K(x, x)) <= R.

        Raises
        ------
        BudgetExhausted
            With calibration="paper", at the first new query after B updates; earlier ones of X are answered and kept.
        DomainViolation
            If a row is above R and `clip` is False, or the queries show that the kernel is not positive semidefinite.
        """
        view = one_fit(self)
        X = view._bounded(view._queries(X), view._kernel())
        warn_vacuous("PINP", view.constants_, 2)
        with ignoring_numpy_errors(view):
            return view.dialogue_.answer(X)

    def __getstate__(self):
        if hasattr(self, "dialogue_"):
            self.dialogue_.serving.alone()
        return super().__getstate__()

    def _margin(self, X):
        X = self._bounded(self._queries(X), self._kernel())
        warn_vacuous("PINP", self.constants_, 3)
        with ignoring_numpy_errors(self):
            return self.dialogue_.answer(X).values
