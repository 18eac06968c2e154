"""Private selection of a support as scikit-learn feature selectors."""

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from dperm import losses
from dperm.accounting.events import EpsilonDeltaDpEvent
from dperm.domain import (
    LEAST,
    MOST,
    Budget,
    Domain,
    Guarantee,
    Neighbours,
    PrivacyStatement,
    integer,
    number,
    one_of,
    tame_rows,
)
from dperm.errors import DomainViolation, SolverError
from dperm.mechanisms.diagnostics import Diagnostics, keep
from dperm.mechanisms.estimators.model import generator, warn_unproved
from dperm.mechanisms.estimators.records import check_flags, stated, table, validated
from dperm.mechanisms.estimators.whole import whole
from dperm.mechanisms.support import exp_mech, limits, samp_agg


class SparseEstimator(BaseEstimator, metaclass=ABCMeta):
    """What the private selectors and the sparse regression share: the order of checks, and the statement.

    `privacy_` covers what is selected and fitted; every error or warning that speaks of the rows depends on the data
    and is not covered (docs/privacy.md, section 7), nor is what `dperm.diagnostics` has of the solvers.
    """

    source: ClassVar[str]
    # Calibrations that there are, as a Literal.
    _offered: ClassVar[Any]
    # What is released.
    _covered: ClassVar[tuple[str, ...]]
    # Why there is no guarantee, where there is none.
    unproved: ClassVar[str] = ""

    @abstractmethod
    def _budget(self) -> Budget:
        """Return what a fit spends."""

    @abstractmethod
    def _check_declared(self) -> None:
        """Refuse wrong parameters of the subclass's own, without the data."""

    @abstractmethod
    def _check_data(self, n: int, p: int) -> None:
        """Refuse what does not fit the shape of the data, before any work."""

    @abstractmethod
    def _fit(self, X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Guarantee:
        """Run the core once, set the attributes and return the guarantee."""

    @whole
    def fit(self, X, y):
        """Fit on private data.

        Parameters
        ----------
        X : array_like, shape (n, p)
        y : array_like, shape (n,)
            Real targets.

        Returns
        -------
        self

        Raises
        ------
        InvalidBudget
            If the budget is impossible.
        DomainViolation
            If a public bound is missing or wrong, or the data are beyond one and `clip` is False.
        DataError
            If there are more blocks than records.
        ValueError
            If another parameter is not of its kind or outside its range; the message names it.
        SolverError
            If a solver did not reach its public target; nothing is released.
        """
        budget = self._budget()
        one_of("calibration", self.calibration, self._offered)
        one_of("neighbours", self.neighbours, Neighbours)
        limits.checked_size(self.size)
        check_flags(self, "clip")
        self._check_declared()
        rng = generator(self.random_state)
        X, y = validated(self, X, y, numeric=True)
        limits.checked_size(self.size, X.shape[1])
        self._check_data(*X.shape)
        guarantee = self._fit(X, y, rng)
        if guarantee == "none":
            warn_unproved(self, "leave calibration out for one that does", stacklevel=3)
        self.privacy_ = PrivacyStatement(
            budget.epsilon,
            budget.delta,
            self.neighbours,
            self.calibration,
            guarantee,
            self.random_state is not None,
            EpsilonDeltaDpEvent(budget.epsilon, budget.delta),
            self.source,
            covers=self._covered,
            reason=self.unproved if guarantee == "none" else "",
            total=stated(self, numeric=True),
        )
        return self

    def _check_bounds(self) -> None:
        """Refuse public bounds that are missing or outside their range."""
        if self.y_bound is None:
            raise DomainViolation(
                "y_bound=None: the squared loss is not bounded without a public bound on |y|; declare y_bound, and "
                "pass clip=True to move targets beyond it to it"
            )
        Domain(self.x_norm, self.y_bound)
        remedy = "it is the public bound on the entries of theta"
        number("bound", self.bound, LEAST, MOST, ends="[]", error=DomainViolation, remedy=remedy)

    def _check_votes(self) -> None:
        """Refuse a penalty or a number of blocks that is missing or outside its range."""
        remedy = "it is the public Lambda of the blocks' lassos; samp_agg.paper_penalty has the paper's"
        number("penalty", self.penalty, LEAST, MOST, ends="[]", remedy=remedy)
        if self.blocks is not None:
            integer("blocks", self.blocks, 1, "it is the public number of blocks")
            number("blocks", self.blocks, 1, samp_agg.MOST_BLOCKS, ends="[]", remedy="each has a lasso of its own")
        elif self.neighbours == "add_remove" and self.calibration != "paper":
            raise ValueError("blocks=None: under add/remove n is private, and so is sqrt(n); give a public number")

    def _check_blocks(self, n: int) -> None:
        """Refuse more blocks than records; under add/remove only where `clip` is False."""
        if self.blocks is not None:
            samp_agg.checked_blocks(self.blocks, n, self.neighbours, empty=self.clip)

    def _as_they_are(self, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the data of votes, which need no bounds: with `clip` without NaN, infinity or numbers beyond 1e100."""
        return (tame_rows(X), tame_rows(y[:, None])[:, 0]) if self.clip else (X, y)

    def _within_bounds(self, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the data within the public bounds, or refuse them where `clip` is False."""
        y = losses.squared().targets_of(y, Domain(self.x_norm, self.y_bound), clip=self.clip)
        return limits.bounded_parts(X, self.size, self.x_norm, clip=self.clip), y

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.non_deterministic = self.random_state is None
        return tags


class _Selector(SelectorMixin, SparseEstimator):
    """A selector whose `support_` is the private mask."""

    _covered = ("support_",)

    def _budget(self):
        return Budget(self.epsilon)

    def transform(self, X):
        """Return the selected columns.

        Parameters
        ----------
        X : array_like, shape (m, p)

        Returns
        -------
        ndarray, shape (m, size)
        """
        table(X)
        return super().transform(X)

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_

    def _keep(self, support: np.ndarray) -> None:
        self.support_ = np.zeros(self.n_features_in_, bool)
        self.support_[support] = True


@dataclass(eq=False, repr=False, kw_only=True)
class ExpMechSupport(_Selector):
    r"""Private feature selection by the exponential mechanism over all supports of `size` features.

    Draws a support with probability proportional to exp(-w q), q the least sum of squares of a theta on that support
    with |theta_j| <= `bound`; the mathematics stands in `dperm.mechanisms.support.exp_mech`. It goes through all
    C(p, size) supports, of which there may be 10^7.

    Parameters
    ----------
    size : int, default=1
        s in [1, p].
    epsilon : float, default=1.0
        Above 0; delta is 0.
    bound : float, default=1.0
        Public box of theta.
    calibration : {"tight", "paper"}, default="tight"
    neighbours : {"add_remove", "replace"}, default="add_remove"
        The paper's Definition 1 is add/remove.
    x_norm : float, default=1.0
        Public bound on the l2 norm of the `size` largest entries of a row.
    y_bound : float
        Public bound on |y|; has to be given.
    clip : bool, default=False
        Scale longer rows down, and bring targets into their domain, instead of raising: no record makes `fit` fail or
        warn (docs/privacy.md, section 1).
    random_state : int, Generator, RandomState or None, default=None
        None draws from the operating system. A seeded release is for science only.

    Attributes
    ----------
    support_ : ndarray of bool, shape (p,)
        The features taken, also as `get_support()`.
    privacy_ : PrivacyStatement

    References
    ----------
    kifer2012, Algorithm 4, Theorem 32; errata K4, K5.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import ExpMechSupport
    >>> X = np.random.default_rng(0).choice([-1.0, 1.0], size=(400, 6))
    >>> selector = ExpMechSupport(epsilon=1.0, y_bound=1.0, random_state=0).fit(X, X[:, 3])
    >>> selector.get_support(indices=True)
    array([3])
    >>> selector.privacy_.guarantee
    'proved'
    """

    source = "kifer2012, Algorithm 4, Theorem 32"
    _offered = exp_mech.Offered

    size: int = 1
    epsilon: float = 1.0
    bound: float = 1.0
    calibration: str = "tight"
    neighbours: str = "add_remove"
    x_norm: float = 1.0
    y_bound: float | None = None
    clip: bool = False
    random_state: Any = None

    def _check_declared(self):
        self._check_bounds()

    def _check_data(self, n, p):
        limits.checked_supports(self.size, p)

    def _fit(self, X, y, rng):
        X, y = self._within_bounds(X, y)
        found = exp_mech.select(
            X,
            y,
            size=self.size,
            domain=Domain(self.x_norm, self.y_bound),
            budget=self._budget(),
            neighbours=self.neighbours,
            calibration=self.calibration,
            bound=self.bound,
            rng=rng,
        )
        keep(self, Diagnostics(found.certificate, found.converged))
        if not found.converged:
            raise SolverError(
                "a score may be wrong by more than epsilon has room for: rounding over so many records; take fewer, or "
                "a smaller bound"
            )
        self._keep(found.supports[0])
        return found.guarantee


@dataclass(eq=False, repr=False, kw_only=True)
class SampAggSupport(_Selector):
    r"""Private feature selection by sample and aggregate: blocks of the data vote, noise, the `size` largest win.

    Each block votes for the largest entries of its own lasso; the mathematics stands in
    `dperm.mechanisms.support.samp_agg`. No bound on the data is needed: a vote is bounded whatever they are.

    Parameters
    ----------
    size : int, default=1
        s in [1, p].
    epsilon : float, default=1.0
        Above 0; delta is 0.
    penalty : float
        Lambda of the blocks' lassos, 1/2 ||y - X theta||^2 + Lambda ||theta||_1, sums over the rows of a block; public,
        and has to be given. The paper's is 4 sigma sqrt(rows log p): `dperm.mechanisms.support.samp_agg.paper_penalty`.
    blocks : int, optional
        k, public. By default floor(sqrt(n)), but under add/remove n is private, and k has to be given.
    calibration : {"corrected", "paper"}, default="corrected"
        As printed, nothing is promised under add/remove (erratum K6). There are no tighter constants than these.
    neighbours : {"add_remove", "replace"}, default="add_remove"
    clip : bool, default=False
        What to do under add/remove where there are more blocks than records. False raises, which tells that n is below
        k: an error is outside of every statement (docs/privacy.md, section 7). True lets empty blocks vote for the
        first features, puts zero rows for rows that hold NaN or infinity and 0 for such targets, and nothing that
        depends on n or on a record happens but the fit itself. Under replace-one n is public, and it
        is always an error.
    random_state : int, Generator, RandomState or None, default=None
        None draws from the operating system. A seeded release is for science only.

    Attributes
    ----------
    support_ : ndarray of bool, shape (p,)
        The features taken, also as `get_support()`.
    privacy_ : PrivacyStatement

    References
    ----------
    kifer2012, Algorithms 3, 5 and 6, Theorem 36; erratum K6.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import SampAggSupport
    >>> X = np.random.default_rng(0).choice([-1.0, 1.0], size=(400, 6))
    >>> selector = SampAggSupport(epsilon=2.0, penalty=2.0, blocks=20, random_state=0).fit(X, X[:, 3])
    >>> selector.get_support(indices=True)
    array([3])
    """

    source = "kifer2012, Algorithm 5, Theorem 36"
    unproved = "one record more cuts every printed block anew, so that all votes may change (erratum K6)"
    _offered = samp_agg.Offered

    size: int = 1
    epsilon: float = 1.0
    penalty: float | None = None
    blocks: int | None = None
    calibration: str = "corrected"
    neighbours: str = "add_remove"
    clip: bool = False
    random_state: Any = None

    def _check_declared(self):
        self._check_votes()

    def _check_data(self, n, p):
        self._check_blocks(n)

    def _fit(self, X, y, rng):
        found = samp_agg.select(
            *self._as_they_are(X, y),
            size=self.size,
            budget=self._budget(),
            neighbours=self.neighbours,
            calibration=self.calibration,
            penalty=self.penalty,
            blocks=self.blocks,
            rng=rng,
        )
        self._keep(found.supports[0])
        keep(self, Diagnostics(float(found.certificate.max()), bool(np.all(found.converged))))
        return found.guarantee
