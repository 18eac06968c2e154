"""ExpPW, the exponential projected walk, as a scikit-learn estimator."""

import warnings
from dataclasses import dataclass

import numpy as np

from dperm.domain import integer, number
from dperm.errors import DomainViolation, VacuousWarning
from dperm.mechanisms.estimators.prediction import PrivatePredictor
from dperm.mechanisms.prediction import exppw


@dataclass(eq=False, repr=False, kw_only=True)
class ExpPW(PrivatePredictor):
    r"""Private predictions from one feature by thresholds and unions of intervals: the exponential projected walk.

    A walk over the records in the order of the feature goes a step up with each label 1, a step down with each label 0,
    within [-T, T]; a query is answered 1 with the more probability the higher the walk stands there. About
    2 (k + 2) T/alpha records learn a union of intervals with k ends to an error of alpha more than the best one's, up
    to a factor e^epsilon_each. The mathematics stands in `dperm.mechanisms.prediction.exppw`, the proof in
    docs/privacy.md, section 12, Theorem V.

    The fitted object holds the data: keep it in the house. What `predict` returns is private, up to `queries` different
    rows; a row that was asked before gets its first answer again and costs nothing.

    Parameters
    ----------
    epsilon, delta : float, default=1.0, 1e-6
        Of all answers together: above 0, and in [0, 1).
    queries : int, default=1000
        How many different rows are answered. Few answers leave each a larger epsilon, and T shorter.
    feature : int, default=0
        The column that is read, counted from 0. Name it in advance: chosen by looking at the data, it leaks.
    alpha : float, default=0.1
        Accuracy asked for, in (0, 1); it sets T = ceil(2 ln(2/alpha)/epsilon_each), under "add_remove" half of that.
    calibration : {"tight", "paper"}, default="tight"
        "paper" is the text of Section 2.2, without a guarantee under "replace" (erratum D6) and inaccurate on ties.
    neighbours : {"replace", "add_remove"}, default="replace"
        Under "add_remove" half of the records do.
    clip : bool, default=False
        Take every label but `classes[1]` for the negative one, and put zero rows for rows that hold NaN or infinity,
        instead of raising. With declared `classes`, `fit` then never fails or warns because of a record
        (docs/privacy.md, section 1).
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
    walk_bound_ : float
        T.
    epsilon_each_ : float
        epsilon of one answer.
    ledger_ : PredictionLedger
    privacy_ : PrivacyStatement
        Of all answers together.

    Warns
    -----
    VacuousWarning
        If n is public ("replace") and 3 T is n or more, so that Lemma 5.2 says nothing even of thresholds.

    References
    ----------
    dwork2018, Section 5; errata D4, D5, D6.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import ExpPW
    >>> X = np.linspace(0, 1, 2000)[:, None]
    >>> model = ExpPW(epsilon=3.0, queries=2, classes=(0, 1), random_state=0).fit(X, (X[:, 0] > 0.5).astype(int))
    >>> model.predict([[0.2], [0.9]])
    array([0, 1])
    >>> model.ledger_.remaining
    0
    """

    source = "dwork2018, Theorem 5.3"
    bounded_range = True
    # "paper" under "replace" (erratum D6).
    dearer = 2.0
    unproved = "the printed factor e^epsilon a step spends twice epsilon where a record is replaced (erratum D6)"

    feature: int = 0
    alpha: float = 0.1

    def _check_declared(self):
        exppw.walk_bound(self.alpha, self.epsilon, self.calibration, self.neighbours)
        integer("feature", self.feature, 0, "it is the column that is read")

    def _rows(self, X):
        remedy = f"rows have {X.shape[1]} columns, counted from 0"
        number("feature", self._fixed.feature, 0, X.shape[1] - 1, ends="[]", error=DomainViolation, remedy=remedy)
        return X

    def _guarantee(self):
        return exppw.guarantee(self.calibration, self.neighbours)

    def _valid_form(self):
        return "take calibration='tight'; neighbours='add_remove' would have one as printed"

    def _prepare(self, X, y, each, rng):
        self.walk_bound_ = exppw.walk_bound(self.alpha, each, self.calibration, self.neighbours)
        if self.neighbours == "replace" and 3 * self.walk_bound_ >= len(X):
            warnings.warn(
                f"ExpPW: T={self.walk_bound_:g} is a third of the n_samples={len(X)} records or more, so answers are "
                "close to coin flips; lower queries, raise epsilon or alpha, or bring more records",
                VacuousWarning,
                stacklevel=4,
            )
        # "paper" sorts equal points by their labels.
        record_keys = None if self.calibration == "paper" else rng.random(len(X))
        self._walk = exppw.prepare(X[:, self.feature], y, record_keys, self.walk_bound_)
        self._each = each

    def _answer(self, X, rngs):
        fixed = self._fixed
        # "paper" reads the points < x alone.
        query_keys = -np.inf if fixed.calibration == "paper" else np.array([rng.random() for rng in rngs])
        v = exppw.value(self._walk, X[:, fixed.feature], query_keys)
        return exppw.bits(v, self._each, fixed.calibration, fixed.neighbours, rngs)
