"""The soft majority of base learners on shards, as a scikit-learn estimator."""

import warnings
from dataclasses import dataclass
from typing import Any, Literal

from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression

from dperm.domain import number, one_of
from dperm.errors import VacuousWarning
from dperm.mechanisms.estimators.prediction import PrivatePredictor
from dperm.mechanisms.prediction import consensus, rehearsal, shards, soft_majority

Mode = Literal["each", "consensus"]
# A shard with fewer records than this is left nearly empty; fewer shards are better then.
_RECORDS = 20
# Beyond this share of what a fair draw among the classes errs, for a vote without dissent, answers are mostly coins.
_NOISE = 0.5


@dataclass(eq=False, repr=False, kw_only=True)
class SoftMajority(PrivatePredictor):
    r"""Classifier whose every answer is private: shards of the data vote, and the vote is softened.

    The records are split into r shards, the base learner is fitted on each, and a query for which `count` of the r
    models say 1 is answered 1 with probability 1/(1 + exp(-epsilon_each (2 count - r)/2)); of any number of classes
    each has a probability proportional to exp(epsilon_each count/2), count being its votes. One record is in one shard,
    so an answer is epsilon_each-DP, whatever the learner does; all answers together stay within (epsilon, delta) (the
    ledger). The mathematics stands in `dperm.mechanisms.prediction.soft_majority` and `.shards`, the proof in
    docs/privacy.md.

    The fitted object holds models that are not private: keep it in the house. What `predict` returns is private. Made
    for labels without noise (PAC learning); where the shards disagree, `AveragedPrediction` is better.

    Parameters
    ----------
    epsilon, delta : float, default=1.0, 1e-6
        Of all answers together: above 0, and in [0, 1).
    queries : int, default=1000
        How many different rows may be asked. Fewer leave more of epsilon to each.
    base : scikit-learn classifier, optional
        Cloned for each shard; parameters named random_state that are None get a seed of the shard's own. By default
        logistic regression.
    shards : int, optional
        r >= 2. By default ceil(6 ln(4 (k - 1)/alpha)/epsilon_each) for k classes (Theorem 4.1), and under
        replace-one, where the number n of records is public, at most n/20. Under add/remove shards without records are
        possible, and vote for the first label.
    alpha : float, default=0.05
        In (0, 1): the error that the default number of shards is made for.
    mode : {"each", "consensus"}, default="each"
        "consensus": rows on which the shards agree, by a noisy count, are answered for nothing, any number of them, and
        `queries` is how many contested rows are; after the last of these nothing is answered any more. It needs delta
        > 0 and over a thousand shards at epsilon = 1 (`dperm.mechanisms.prediction.consensus`), by default enough for a
        quarter of them to disagree, calibration="tight", and two classes.
    calibration : {"tight", "paper"}, default="tight"
        "paper": the weights exp(epsilon_each count) of the paper's prose, which spend twice epsilon_each: guarantee
        `none` (erratum D1).
    neighbours : {"replace", "add_remove"}, default="replace"
        The paper's are replace-one.
    clip : bool, default=False
        Take every label that is none of `classes` for the first one, put zero rows for rows that hold NaN or
        infinity, scale rows with an entry beyond 1e38 down to it, and take the first class for what a shard's learner
        does not answer, instead of raising. With declared `classes`, `fit` and `predict` then never fail or warn
        because of a record (docs/privacy.md, section 1).
    classes : tuple of labels, optional
        Public labels, (negative, positive) or more than two. Left out, they are taken from y with a
        `PrivacyLeakWarning`.
    state : path-like or URL, optional
        A journal of what was answered: it outlives this object, and copies and processes share it, which are refused
        else. Its noise is fresh whatever the seed. Deleting it gives a new budget, which no statement covers.
        A file, or a database: `sqlite:///path`, `postgresql://host/database` (`dperm.mechanisms.stores`).
    random_state : int, Generator, RandomState or None, default=None
        None draws from the operating system. A seeded release is for science only.

    Attributes
    ----------
    shards_ : int
        r.
    epsilon_each_ : float
        Of one answer.
    ledger_ : PredictionLedger
    privacy_ : PrivacyStatement
        Of all answers together.

    References
    ----------
    dwork2018, Section 4.1, Theorem 4.1; erratum D1.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import SoftMajority
    >>> X = np.linspace(0, 1, 2000)[:, None]
    >>> y = (X[:, 0] >= 0.5).astype(int)
    >>> model = SoftMajority(epsilon=2.0, delta=0.0, queries=2, classes=(0, 1), random_state=0).fit(X, y)
    >>> model.shards_
    27
    >>> model.predict([[0.1], [0.9]]).tolist()
    [0, 1]
    >>> model.ledger_.remaining
    0
    """

    asks_learners = True
    source = "dwork2018, Theorem 4.1"
    bounded_range = True
    # "paper" (erratum D1).
    dearer = 2.0
    unproved = "the weights exp(epsilon count) of the paper's prose spend twice epsilon (erratum D1)"

    base: Any = None
    shards: int | None = None
    alpha: float = 0.05
    mode: str = "each"

    def _check_declared(self):
        fits = hasattr(self.base, "fit") and not isinstance(self.base, type)
        if self.base is not None and not (fits and is_classifier(self.base)):
            raise ValueError(f"base={self.base!r} must be a scikit-learn classifier (an object, not its class)")
        number("alpha", self.alpha, 0, 1, remedy="it is the error that the number of shards is made for")
        if self.shards is not None:
            shards.counted(self.shards)
        one_of("mode", self.mode, Mode)
        if self.mode == "consensus" and self.calibration != "tight":
            raise ValueError(f"calibration={self.calibration!r} has no mode='consensus'; take calibration='tight'")

    def _several(self):
        return self.mode == "each"

    def _guarantee(self):
        return soft_majority.guarantee(self.calibration)

    def _open(self, n):
        if self.mode == "each":
            return super()._open(n)
        r = self._count(n, consensus.shards_needed(self.epsilon, self.delta, self.queries))
        return consensus.ContestedLedger(
            self.epsilon, self.delta, r, self.queries, neighbours=self.neighbours, path=self.state, reserve=1
        )  # fmt: skip

    def _count(self, n: int, needed: int) -> int:
        """Return r: as asked, or as needed and, where n is public, no more than leave shards some records."""
        if self.shards is not None:
            return int(self.shards)
        return min(needed, max(2, n // _RECORDS)) if self.neighbours == "replace" else needed

    def _prepare(self, X, y, each, rng):
        contested = self.mode == "consensus"
        classes = len(self.classes_)
        needed = self.ledger_.shards if contested else soft_majority.shards_needed(self.alpha, each, classes)
        r = needed if contested else self._count(len(y), needed)
        least = soft_majority.turned(r, classes, each, self.calibration)
        if least > _NOISE * (1 - 1 / classes) and not contested:
            warnings.warn(
                f"{type(self).__name__}: with {r} shards and epsilon={each:.3g} for each answer even a vote without "
                f"dissent is turned with probability {least:.2g}; take fewer queries, a larger epsilon, or more shards "
                f"({needed} of them are needed for alpha={self.alpha:g})",
                VacuousWarning,
                stacklevel=4,
            )
        parts = shards.assign(len(y), r, neighbours=self.neighbours, rng=rng)
        base = LogisticRegression() if self.base is None else self.base
        if self.clip:
            public = len(y) // r if self.neighbours == "replace" else None
            rehearsal.rehearse(base, X.shape[1], each=public, classes=classes)
        self._models = shards.fit_shards(base, X, y, parts, neighbours=self.neighbours, rng=rng, total=self.clip)
        self.shards_, self._each = len(parts), each

    def _answer(self, X, rngs):
        counts = shards.votes_of_classes(self._models, X, len(self.classes_), total=self._fixed.clip)
        if counts.shape[1] == 2:
            return soft_majority.bits(counts[:, 1], self.shards_, self._each, self._fixed.calibration, rngs)
        return soft_majority.choices(counts, self._each, self._fixed.calibration, rngs)

    def _serve(self, X, asked):
        if self._fixed.mode == "each":
            super()._serve(X, asked)
            return
        # As in the other mode, models are asked when something was charged: what fails there stays charged.
        with self.ledger_.round() as free:
            counts = shards.votes(self._models, X, total=self._fixed.clip).tolist()
            free()
        answers = []
        try:
            for key, count in zip(asked, counts, strict=True):
                answers.append(float(consensus.answer(count, self.shards_, self.ledger_, self._noise.of(key))))
        finally:
            # Those before the last contested answer are kept, if the budget ends among them.
            self._known.keep(asked[: len(answers)], answers)
