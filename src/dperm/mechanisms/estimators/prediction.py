"""What every private predictor shares: a ledger of answers, first answers kept for repeats, labels, the statement."""

from abc import ABCMeta, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from dp_accounting import dp_event
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from dperm.accounting import filters
from dperm.domain import Budget, Guarantee, Neighbours, PrivacyStatement, integer, one_of, tame_rows
from dperm.mechanisms.estimators.model import declared, encoded, generator, tagged, told, warn_unproved
from dperm.mechanisms.estimators.records import check_flags, queried, stated, validated
from dperm.mechanisms.estimators.whole import ignoring_numpy_errors, one_fit, whole
from dperm.mechanisms.prediction.ledger import Count, PredictionLedger
from dperm.mechanisms.queries import Fresh, Known, Noise, first_of, fitted, keys, parameters

# No number up to this one leaves single precision.
_SINGLE = 1e38


@dataclass(eq=False, repr=False, kw_only=True)
class PrivatePredictor(BaseEstimator, metaclass=ABCMeta):
    """Answers queries one at a time from the data it keeps; subclasses say how.

    Subclasses give `source`, `calibrations`, `bounded_range`, `dearer`, `_prepare` and `_answer`; `_check_declared`,
    `_rows`, `_classifies`, `_guarantee`, `_valid_form`, `_open` and `_serve` where the ones here do not fit. `_rows`,
    `_answer` and `_serve` read `_fixed`, the parameters as they were at `fit`, and never those of the object:
    `set_params` changes nothing before the next `fit`, so that `privacy_` stays true. A `fit` that fails leaves nothing
    that answers.

    The parameters that all have are fields here, and described where users look, at each subclass:

    `epsilon`, `delta`: of all answers together. `queries`: how many different rows may be asked. `calibration`,
    `neighbours`, `clip`. `classes`: public (negative, positive) labels; left out, they are taken from y with a
    `PrivacyLeakWarning`. `state`: path of a journal of what was answered; it outlives the object, copies and processes
    share it, and what it says was spent counts, whatever is fitted; without one a fitted object answers in its own
    process alone and cannot be copied, and every `fit` starts anew, as it does where the journal was deleted.
    `random_state`: with `state` the noise is fresh whatever the seed, or a fit on changed data would repeat it.

    Attributes
    ----------
    epsilon_each_ : float
        epsilon of one answer, as large as the best valid accountant allows.
    ledger_ : PredictionLedger
        `ledger_.remaining` rows may still be asked.
    privacy_ : PrivacyStatement
        Of all answers together.
    """

    source: ClassVar[str]
    calibrations: ClassVar[tuple[str, ...]] = ("paper", "tight")
    bounded_range: ClassVar[bool] = False
    # By what factor an answer without a guarantee is dearer than `each`, and why it has none.
    dearer: ClassVar[float]
    unproved: ClassVar[str] = ""
    # Does an answer run code of a user's learner?
    asks_learners: ClassVar[bool] = False

    epsilon: float = 1.0
    delta: float = 1e-6
    queries: int = 1000
    calibration: str = "tight"
    neighbours: str = "replace"
    clip: bool = False
    classes: Sequence[Any] | None = None
    state: str | PathLike | None = None
    random_state: Any = None

    @abstractmethod
    def _prepare(self, X: np.ndarray, y: np.ndarray, each: float, rng: np.random.Generator) -> None:
        """Keep what answers need; y in {0, 1}, or 0 .. k - 1, of a classifier; `each` is epsilon of one answer."""

    @abstractmethod
    def _answer(self, X: np.ndarray, rngs: list[np.random.Generator]) -> np.ndarray:
        """Return one answer a row, each with the noise of its own generator: labels as y, or real numbers."""

    def _check_declared(self) -> None:
        """Refuse a parameter of the subclass that needs no data to be refused."""

    def _rows(self, X: np.ndarray) -> np.ndarray:
        """Return rows within their public bounds, or refuse them; of the data and of queries alike."""
        # Trees look at rows in single precision, and refuse a whole batch for one entry beyond it.
        return tame_rows(X, most=_SINGLE) if self.asks_learners and self._fixed.clip else X

    def _classifies(self) -> bool:
        return True

    def _several(self) -> bool:
        """Return whether there may be more than two classes."""
        return False

    def _guarantee(self) -> Guarantee:
        return "proved"

    def _valid_form(self) -> str:
        """Say what would have a guarantee."""
        return "take calibration='tight'"

    def _open(self, n: int) -> Count:
        """Return the ledger, with `each`, for n records; n is public under replace-one alone."""
        return PredictionLedger(
            self.epsilon,
            self.delta,
            answers=self.queries,
            bounded_range=self.bounded_range,
            neighbours=self.neighbours,
            mechanism=self._told(),
            path=self.state,
            reserve=1,
        )

    def _covers(self) -> tuple[str, ...]:
        """Return the attributes or methods whose values are released."""
        return ("predict",)

    def _told(self) -> dict[str, str]:
        """Say what an answer is, for the journal; its neighbours it knows."""
        return {
            "mechanism": type(self).__name__,
            "calibration": self.calibration,
            "guarantee": self._guarantee(),
        }

    @whole
    def fit(self, X, y):
        """Forget what was fitted, keep the data, and open the ledger.

        Parameters
        ----------
        X : array_like, shape (n, d)
        y : array_like, shape (n,)

        Returns
        -------
        self

        Raises
        ------
        InvalidBudget
            If the budget is none, or `state` is the journal of other answers.
        DomainViolation, DataError, ValueError
            If the data or a parameter is unfit; the message names it.
        CorruptFile
            If the journal is damaged.
        """
        # What was declared wrongly is blamed before the rows are.
        Budget(self.epsilon, self.delta)
        one_of("neighbours", self.neighbours, Neighbours)
        # Of an array `in` would ask each entry.
        if not isinstance(self.calibration, str) or self.calibration not in self.calibrations:
            allowed = ", ".join(map(repr, self.calibrations))
            raise ValueError(f"calibration={self.calibration!r} is not one of {allowed}")
        check_flags(self, "clip")
        integer("queries", self.queries, 1, "it counts the rows that are answered")
        self._check_declared()
        if self.state is not None:
            parameters(self)
        classes = None if self.classes is None else declared(self.classes, several=self._several())
        rng = generator(self.random_state)
        X, y = validated(self, X, y, numeric=not self._classifies())
        X = tame_rows(X) if self.clip else X
        if self._classifies():
            self.classes_, y = encoded(y, classes, clip=self.clip, stacklevel=4, several=self._several())
            y = (y + 1) / 2 if len(self.classes_) == 2 else y
        self._fixed = SimpleNamespace(**self.get_params(deep=False), classifies=self._classifies())
        self._begin(self._rows(X), y, rng)
        return self

    def _begin(self, X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> None:
        """Open the ledger, and keep what answers need (X: rows within their bounds; y in {0, 1} of a classifier)."""
        self.ledger_ = self._open(len(y))
        self.epsilon_each_ = self.ledger_.each
        self.privacy_ = self._statement()
        self._prepare(X, y, self.epsilon_each_, rng)
        # With a journal other data may be fitted under the same seed, and processes answer from the same state: their
        # answers need noise of their own.
        self._noise = Noise(rng) if self.state is None else Fresh()
        # Only a journal has to tell fits apart.
        self._known = Known(self.ledger_.serving, b"" if self.state is None else fitted(self, X, y))

    def __sklearn_is_fitted__(self) -> bool:
        # What `fit` sets last.
        return hasattr(self, "_made")

    def predict(self, X):
        """Answer each row: labels of a classifier, else real numbers.

        Rows that were asked before get their first answer again, at no charge. All new rows are charged before the
        first of them is answered; what fails after that stays charged.

        Parameters
        ----------
        X : array_like, shape (m, d)

        Returns
        -------
        ndarray, shape (m,)

        Raises
        ------
        BudgetExhausted
            If there are more new rows than may still be asked; none is answered or charged then.
        DomainViolation, ValueError
            If a row is unfit; nothing is charged then.
        ReleaseError
            If this is another process than that of `fit`, or the journal is gone, or was closed.
        """
        view = one_fit(self)
        with ignoring_numpy_errors(view):
            return view._answered(X)

    def _answered(self, X):
        check_is_fitted(self)
        X = self._rows(queried(self, X))
        asked = keys(X)
        with self.ledger_.serving.turn():
            known = self._known.answers
            new = first_of(asked, known)
            if new:
                self._serve(X[new], [asked[i] for i in new])
            found = np.array([known[key] for key in asked])
        return self.classes_[found.astype(int)] if self._fixed.classifies else found

    def _asked(self, X: Any) -> tuple[list[bytes], Mapping[bytes, Any]]:
        """Return what names each row, and the answers by name so far: for a server, in its turn."""
        view = one_fit(self)
        return keys(view._rows(queried(view, X))), view._known.answers

    def _serve(self, X: np.ndarray, asked: list[bytes]) -> None:
        """Charge new rows, answer them and keep the answers; the journal has both before any answer leaves."""
        with self.ledger_.serving.together():
            self.ledger_.charge(len(asked))
            if self.asks_learners:
                # A learner may end the process, which tells something: by then its charge is on disk.
                self.ledger_.serving.flush()
            answers = self._answer(X, [self._noise.of(key) for key in asked])
            self._known.keep(asked, np.asarray(answers, dtype=np.float64).tolist())

    def __getstate__(self):
        if hasattr(self, "ledger_"):
            self.ledger_.serving.alone()
        return super().__getstate__()

    def _statement(self) -> PrivacyStatement:
        guarantee = self._guarantee()
        if guarantee == "none":
            warn_unproved(self, self._valid_form(), stacklevel=5)
        guarantee, event, reason = told(
            guarantee,
            self._event(guarantee),
            self.unproved if guarantee == "none" else "",
            leaked=self._classifies() and self.classes is None,
        )
        return PrivacyStatement(
            float(self.epsilon),
            float(self.delta),
            self.neighbours,
            self.calibration,
            guarantee,
            self.random_state is not None,
            event,
            f"{self.source}; docs/privacy.md, section 12",
            covers=self._covers(),
            reason=reason,
            total=stated(self, numeric=not self._classifies()),
        )

    def _event(self, guarantee: Guarantee) -> dp_event.DpEvent:
        """Return what all answers together are, at the price that they have."""
        if guarantee != "none":
            return self.ledger_.event
        price = self.dearer * self.epsilon_each_
        return dp_event.ZCDpEvent(self.ledger_.answers * filters.rho(price, self.bounded_range))

    def score(self, X, y):
        """Return accuracy (labels) or R^2 (real answers) on the given rows, which are asked; not private.

        Parameters
        ----------
        X : array_like, shape (m, d)
        y : array_like, shape (m,)

        Returns
        -------
        float
        """
        answers = self.predict(X)
        measure: Any = accuracy_score if self._fixed.classifies else r2_score
        return measure(y, answers)

    def __sklearn_tags__(self):
        return tagged(self, super().__sklearn_tags__(), classifier=self._classifies())
