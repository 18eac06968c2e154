"""Stable empirical risk minimisation as a scikit-learn estimator."""

from dataclasses import dataclass

from dperm.mechanisms.base import target
from dperm.mechanisms.diagnostics import Diagnostics, keep
from dperm.mechanisms.estimators.stable import StablePredictor
from dperm.mechanisms.prediction import stable_erm


@dataclass(eq=False, repr=False, kw_only=True)
class StableERM(StablePredictor):
    r"""Private predictions of a linear model: the regularised minimiser, with Laplace noise for every answer.

    w minimises 1/n sum_i l(<w, x_i>, y_i) + lambda ||w||^2 over ||w|| <= R. A row x is answered with <w, x> + Laplace
    noise, of a classifier with the label that this has. The mathematics stands in
    `dperm.mechanisms.prediction.stable_erm`, the proof in docs/privacy.md, section 12.

    The fitted object holds w: keep it in the house. What `predict` returns is private, up to `queries` different rows;
    a row that was asked before gets its first answer again and costs nothing. With `answers="model"` the object holds
    w + noise instead, which is private itself, and answers any number of rows of any length.

    Parameters
    ----------
    epsilon, delta : float, default=1.0, 1e-6
        Of all answers together: above 0, and in [0, 1).
    queries : int, default=1000
        How many different rows are answered; with `answers="model"` any number is.
    answers : {"each", "model"}, default="each"
        What carries the noise. "each": every answer, Laplace noise, as in the paper. "model": w, once, and all answers
        are computed from that; Gaussian noise (`delta` 0: spherical Laplace). At the default budget this is less noise
        from three queries on (docs/privacy.md, section 12, Theorem M); needs `calibration="tight"` and no `state`.
    loss : str, default="logistic"
        "logistic", "smoothed_hinge", "hinge" are of two labels, "huber" and "absolute" of real targets; with `y_bound`
        also "squared", and "poisson" of counts.
    loss_parameters : dict, optional
        Such as {"knee": 0.5} for "huber".
    corollary : {"4.11", "4.10"}, default="4.11"
        4.11 adds lambda ||w||^2; 4.10 takes lambda/2 ||w||^2 as part of a strongly convex loss.
    total : float, optional
        lambda n, public: the weight beside the sum of losses. Left out, Corollary 4.11's, made of n and of one answer's
        epsilon; under "add_remove", and for 4.10, it must be declared.
    radius : float, default=1.0
        R, public.
    x_norm : float, default=1.0
        Public bound on the l2 norm of rows and queries.
    y_bound : float, optional
        Public bound on |y|, of real targets.
    fit_intercept : bool, default=False
        Append a constant feature 1, regularised like the rest; the bound on rows becomes sqrt(x_norm^2 + 1).
    calibration : {"tight", "paper"}, default="tight"
        "paper" makes the noise two (4.10) or four times (4.11) as large (errata D9, D10): enough for the solver's error
        too, unless 4.10 meets a `tolerance` above 0.5 under "replace".
    neighbours : {"replace", "add_remove"}, default="replace"
    clip : bool, default=False
        Scale longer rows and queries down to `x_norm`, and bring targets into their domain, instead of raising: with
        declared `classes` (or real targets) no record makes `fit` fail or warn (docs/privacy.md, section 1).
    classes : tuple of two labels, optional
        Public (negative, positive) labels. Left out, they are taken from y with a `PrivacyLeakWarning`.
    tolerance : float, default=0.01
        In [1e-12, 1]: the solver's public target, as a share of how far one record moves w; the noise covers it.
    state : path-like or URL, optional
        A journal of what was answered: it outlives this object, and copies and processes share it, which are refused
        else. Its noise is fresh whatever the seed. Deleting it gives a new budget, which no statement covers.
        A file, or a database: `sqlite:///path`, `postgresql://host/database` (`dperm.mechanisms.stores`).
    random_state : int, Generator, RandomState or None, default=None
        None draws from the operating system. Seeded answers are for science only.

    Attributes
    ----------
    epsilon_each_ : float
        epsilon of one answer; with `answers="each"`.
    ledger_ : PredictionLedger
        With `answers="each"`.
    coef_, intercept_
        As in scikit-learn, with their noise; with `answers="model"`, as `decision_function` and `predict_proba`.
    privacy_ : PrivacyStatement
        Of all answers together; with `answers="model"` of `coef_` and `intercept_`.

    Warns
    -----
    VacuousWarning
        With `answers="model"`, where the noise in the score of a row at the bound is as large as any score that a model
        of the declared radius gives (`dperm.mechanisms.vacuous`).

    References
    ----------
    dwork2018, Corollaries 4.10 and 4.11; errata D9, D10, J9.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import StableERM
    >>> X = np.array([[0.6, 0.0], [0.0, 0.8], [-0.5, 0.1], [0.1, -0.7]] * 50)
    >>> y = np.array([1, 1, 0, 0] * 50)
    >>> model = StableERM(epsilon=2.0, queries=3, classes=(0, 1), random_state=0).fit(X, y)
    >>> bool((model.predict(X[:2]) == model.predict(X[:2])).all()), model.ledger_.remaining
    (True, 1)
    """

    source = "dwork2018, Corollary 4.11"
    calibrations = ("paper", "tight")

    corollary: str = "4.11"
    total: float | None = None
    tolerance: float = 0.01

    def _check_declared(self):
        super()._check_declared()
        target(self.tolerance)
        lipschitz, domain = stable_erm.slope(self._loss(), self._domain()), self._domain()
        # n = 1 and epsilon = 1 stand for those of the data: what is declared is refused whatever they are.
        stable_erm.declared_total(self.total, lipschitz, domain, 1, 1.0, self.neighbours, self.corollary)
        if self.total is not None:
            stable_erm.check_reach(self._loss(), domain, self.total)

    def _learn(self, X, y, loss, domain, each):
        predictor = stable_erm.prepare(
            X,
            y,
            loss,
            domain=domain,
            epsilon=each,
            calibration=self.calibration,
            neighbours=self.neighbours,
            corollary=self.corollary,
            total=self.total,
            tolerance=self.tolerance,
        )
        keep(self, Diagnostics(predictor.certificate))
        return predictor

    def _guarantee(self):
        return stable_erm.guarantee(self.calibration, self.tolerance, self.corollary, self.neighbours)
