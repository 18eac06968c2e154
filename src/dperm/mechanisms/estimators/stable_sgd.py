"""Stable stochastic gradient descent as a scikit-learn estimator."""

from dataclasses import dataclass

from dperm.domain import one_of
from dperm.mechanisms.estimators.stable import StablePredictor
from dperm.mechanisms.prediction import stable_sgd


@dataclass(eq=False, repr=False, kw_only=True)
class StableSGD(StablePredictor):
    r"""Private predictions of a linear model: the mean iterate of one pass of gradient descent, with Laplace noise.

    One projected gradient step a record, in the order given, of a smooth loss; w is the mean of the iterates. A row x
    is answered with <w, x> + Laplace noise, of a classifier with the label that this has. The mathematics stands in
    `dperm.mechanisms.prediction.stable_sgd`, the proof in docs/privacy.md, section 12, Theorem W.

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
        "logistic" and "smoothed_hinge" are of two labels, "huber" and, with `y_bound`, "squared" of real targets,
        "poisson" of counts. Its smoothness must be at most 2/eta: n large enough.
    loss_parameters : dict, optional
        Such as {"knee": 0.5} for "huber".
    eta : {"printed", "halved"}, default="printed"
        The step: R/(L sqrt n), or half of that, which also halves the noise (erratum D15).
    radius : float, default=1.0
        R, public: iterates stay in ||w|| <= R.
    x_norm : float, default=1.0
        Public bound on the l2 norm of rows and queries.
    y_bound : float, optional
        Public bound on |y|, of real targets.
    fit_intercept : bool, default=False
        Append a constant feature 1; the bound on rows becomes sqrt(x_norm^2 + 1).
    calibration : {"tight", "corrected", "paper"}, default="tight"
        "paper" has half of the noise that the printed step needs: no guarantee (erratum D2), unless eta="halved".
    neighbours : {"replace"}, default="replace"
        The number of records sets the step, so "add_remove" is refused.
    clip : bool, default=False
        Scale longer rows and queries down to `x_norm`, and bring targets into their domain, instead of raising: with
        declared `classes` (or real targets) no record makes `fit` fail or warn (docs/privacy.md, section 1).
    classes : tuple of two labels, optional
        Public (negative, positive) labels. Left out, they are taken from y with a `PrivacyLeakWarning`.
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
    dwork2018, Theorem 4.12 and Corollary 4.13; errata D2, D11, D15.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import StableSGD
    >>> X = np.array([[0.6, 0.0], [0.0, 0.8], [-0.5, 0.1], [0.1, -0.7]] * 50)
    >>> y = np.array([1, 1, 0, 0] * 50)
    >>> model = StableSGD(epsilon=2.0, queries=3, classes=(0, 1), random_state=0).fit(X, y)
    >>> model.privacy_.guarantee
    'proved'
    """

    source = "dwork2018, Corollary 4.13"
    calibrations = ("paper", "corrected", "tight")
    # "paper" with the printed step (erratum D2).
    dearer = 2.0
    unproved = "the printed rate is half of what the first record, which is in every iterate, can do (erratum D2)"

    eta: str = "printed"

    def _check_declared(self):
        super()._check_declared()
        stable_sgd.check_neighbours(self.neighbours)
        one_of("eta", self.eta, stable_sgd.Eta)
        # A loss with a kink is refused whatever n; smoothness is held against the step when n is known.
        self._loss().curvature_bound(self._domain())

    def _learn(self, X, y, loss, domain, each):
        return stable_sgd.prepare(
            X,
            y,
            loss,
            domain=domain,
            epsilon=each,
            calibration=self.calibration,
            neighbours=self.neighbours,
            eta=self.eta,
        )

    def _guarantee(self):
        return stable_sgd.guarantee(self.calibration, self.eta)

    def _valid_form(self):
        return "take calibration='tight', or eta='halved'"
