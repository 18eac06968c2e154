"""Averages of base learners with Laplace noise, as a scikit-learn estimator."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression

from dperm.domain import number
from dperm.errors import VacuousWarning
from dperm.mechanisms.estimators.prediction import PrivatePredictor
from dperm.mechanisms.prediction import averaged, rehearsal, shards

# Records that a shard should have at least, where the number of shards is left to us.
_RECORDS = 20


@dataclass(eq=False, repr=False, kw_only=True)
class AveragedPrediction(PrivatePredictor):
    r"""Private predictions by a non-private learner on shards: the mean of their answers, and Laplace noise.

    The records are split at random; `base` is fitted on each shard; a query is answered by the mean of what the shards
    say, clipped to a public range, plus noise, clipped again. Of a classifier that mean is the share of votes for the
    positive class, and the answer is a label, positive with that probability. Unlike a soft majority it does not lose
    accuracy where the shards disagree. The mathematics stands in `dperm.mechanisms.prediction.averaged`, the proof in
    docs/privacy.md, section 12.

    The fitted object holds what was learnt from the data without privacy: keep it in the house. What `predict` returns
    is private, up to `queries` different rows; a row that was asked before gets its first answer again and costs
    nothing.

    Parameters
    ----------
    epsilon, delta : float, default=1.0, 1e-6
        Of all answers together: above 0, and in [0, 1).
    queries : int, default=1000
        How many different rows are answered. Few answers leave each a larger epsilon, and less noise.
    base : scikit-learn classifier or regressor, optional
        Left as it is, cloned for each shard; logistic regression if left out. A classifier sees the labels 0 and 1.
    shards : int, optional
        r, at least 2. Left out ("replace" only), ceil(2/(alpha epsilon_each)) (Corollary 4.7), for "paper" half of that
        (Section 4.3; erratum D8), but so that each has 20 records.
    alpha : float, default=0.1
        Error that the noise may cost twice, in (0, 1]; it decides nothing but `shards`.
    low, high : float, default=0.0, 1.0
        The public range of a regressor's answers; [0, 1] for a classifier.
    stability : float, optional
        gamma: by how much replacing one of a shard's records may move a regressor's prediction anywhere, whatever the
        records are (Definition 4.4; "replace" only). Left out, high - low. A wrong one voids the promise, which nobody
        can check: so the guarantee is `claimed` where it lessens the noise.
    calibration : {"tight", "paper"}, default="tight"
        "paper": Laplace noise of scale (high - low)/(r epsilon_each); "tight": less for labels. Both are proved,
        `stability` apart.
    neighbours : {"replace", "add_remove"}, default="replace"
        Under "add_remove" the number of records is private: records choose their shards, and `shards` has to be given.
    clip : bool, default=False
        Take every label but `classes[1]` for the negative one, move targets into [low, high], put zero rows for rows
        that hold NaN or infinity, scale rows with an entry beyond 1e38 down to it, and take 0 for what a shard's
        learner does not answer, instead of raising. With declared `classes`, `fit` and `predict` then never fail or
        warn because of a record (docs/privacy.md, section 1).
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
    shards_ : int
        r.
    scale_ : float
        b of the noise, in units of the predictions.
    epsilon_each_ : float
        epsilon of one answer.
    ledger_ : PredictionLedger
    privacy_ : PrivacyStatement
        Of all answers together.

    Warns
    -----
    VacuousWarning
        If the noise is as wide as the range: answers then say next to nothing.

    References
    ----------
    dwork2018, Lemmas 4.5 and 4.6, Corollary 4.7; errata D3, D8.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import AveragedPrediction
    >>> X = np.linspace(-1, 1, 2000)[:, None]
    >>> model = AveragedPrediction(epsilon=3.0, queries=2, classes=(0, 1), random_state=0)
    >>> model.fit(X, (X[:, 0] > 0).astype(int)).predict([[-0.7], [0.9]])
    array([0, 1])
    >>> model.ledger_.remaining
    0
    """

    asks_learners = True
    source = "dwork2018, Corollary 4.7"

    base: Any = None
    shards: int | None = None
    alpha: float = 0.1
    low: float = 0.0
    high: float = 1.0
    stability: float | None = None

    def _check_declared(self):
        if not (hasattr(self._base(), "fit") and hasattr(self._base(), "predict")):
            raise ValueError(
                f"base={self.base!r} must be a scikit-learn classifier or regressor: it is cloned and fitted"
            )
        low = number("low", self.low, -1e100, 1e100, ends="[]", remedy="it is the public least answer")
        number("high", self.high, low, 1e100, ends="(]", remedy="it is the public greatest answer, above low")
        if self._classifies() and (self.low, self.high) != (0, 1):
            raise ValueError(f"low={self.low}, high={self.high} are of a regressor; leave them out for a classifier")
        if self.stability is not None and (self._classifies() or self.neighbours == "add_remove"):
            raise ValueError(
                f"stability={self.stability!r} is of a regressor under neighbours='replace' (Definition 4.4): a vote "
                "moves by 1, and a shard whose size changes may become empty; leave it out"
            )
        if self.shards is not None:
            shards.counted(self.shards)
        elif self.neighbours == "add_remove":
            raise ValueError(
                "shards=None would follow from the number of records, which is private; give a public number"
            )
        # Also refuses alpha and stability outside their ranges.
        averaged.shards_needed(self.alpha, self.epsilon, self.calibration)
        self._scale(2 if self.shards is None else self.shards, float(self.epsilon))

    def _classifies(self):
        return is_classifier(self._base())

    def _guarantee(self):
        # The learner's stability is its user's word.
        return "proved" if self.stability is None or self.stability >= self.high - self.low else "claimed"

    def _base(self):
        return LogisticRegression() if self.base is None else self.base

    def _scale(self, r: int, each: float) -> float:
        """Return b for r shards."""
        width = float(self.high) - float(self.low)
        return averaged.scale(
            r,
            each,
            self.calibration,
            bits=self._classifies(),
            width=width,
            stability=self.stability,
            neighbours=self.neighbours,
        )

    def _prepare(self, X, y, each, rng):
        y = shards.within(y, self.low, self.high) if self.clip else y
        wanted = averaged.shards_needed(self.alpha, each, self.calibration)
        self.shards_ = max(2, min(wanted, len(X) // _RECORDS)) if self.shards is None else int(self.shards)
        parts = shards.assign(len(X), self.shards_, neighbours=self.neighbours, rng=rng)
        if self.clip:
            public = len(y) // self.shards_ if self.neighbours == "replace" else None
            rehearsal.rehearse(self._base(), X.shape[1], each=public, low=self.low, high=self.high)
        self._models = shards.fit_shards(
            self._base(), X, y, parts, neighbours=self.neighbours, rng=rng, total=self.clip
        )
        self.scale_ = self._scale(self.shards_, each)
        if self.scale_ >= self.high - self.low:
            warnings.warn(
                f"AveragedPrediction: noise of scale {self.scale_:g} is as wide as the range [{self.low:g}, "
                f"{self.high:g}], so answers say next to nothing; lower queries, raise epsilon, or bring more records "
                "for more shards",
                VacuousWarning,
                stacklevel=4,
            )

    def _answer(self, X, rngs):
        if self._fixed.classifies:
            # Whole votes: a sum of shares, cut to an integer, may move by two where one shard moves by one.
            said = shards.votes(self._models, X, total=self._fixed.clip)
            return averaged.bits(said, self.shards_, self.scale_, rngs)
        low, high = float(self._fixed.low), float(self._fixed.high)
        # A shard may say anything of its records, also infinity: within the range it moves the mean by its share alone.
        said = shards.within(shards.predictions(self._models, X, total=self._fixed.clip), low, high)
        # The mean of values within a range may round a little out of it.
        values = zip(np.clip(said.mean(axis=0), low, high), rngs, strict=True)
        asked = {"low": low, "high": high}
        return np.array([averaged.release(np.array([v]), self.scale_, rng=rng, **asked)[0, 0] for v, rng in values])
