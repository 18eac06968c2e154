"""What the kernel estimators share: the kernel, its bounds, the certified minimiser w*, and the statement."""

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, check_is_fitted

from dperm import kernels
from dperm.domain import (
    LEAST,
    MOST,
    NORM_SLACK,
    Budget,
    Domain,
    Guarantee,
    Mode,
    PrivacyStatement,
    bounded_rows,
    number,
    tame_rows,
)
from dperm.errors import DomainViolation, SolverError
from dperm.losses import Loss
from dperm.mechanisms.base import target
from dperm.mechanisms.diagnostics import Diagnostics, keep
from dperm.mechanisms.estimators.model import PrivateModel, classifies, declared, generator
from dperm.mechanisms.estimators.records import check_flags, queried, validated
from dperm.mechanisms.estimators.whole import whole
from dperm.mechanisms.kernel.constants import Setting
from dperm.mechanisms.queries import fitted, keys, parameters
from dperm.mechanisms.serving import Serving
from dperm.solvers import kernel as solver

# The largest R^2 C for which the solver is tested to meet its target whatever the records are (docs/privacy.md, section
# 1); Huber's targets may be 10^6 knees out, and the further R^2 C lets the margins go there, the more steps that takes.
_HEAVIEST, _HEAVIEST_HUBER = 1e12, 1e4
# Rows whose predictions tell one solution from another.
_SHOWN = 1000


class Promise(Protocol):
    """What a release says of itself, for the statement."""

    guarantee: Guarantee
    event: tuple[str, dict[str, float]]
    mode: Mode


@dataclasses.dataclass(eq=False, repr=False, kw_only=True)
class KernelEstimator(PrivateModel):
    """A private model in the feature space of a kernel; subclasses say what of the minimiser w* is released.

    The parameters that all have are fields here, and described where users look, at each subclass.

    The privacy statement names what is covered. What else `fit` knows of the data, the solver's certificate, is not on
    the object: `dperm.diagnostics` has it.
    """

    epsilon: float = 1.0
    delta: float = 1e-6
    loss: str = "hinge"
    loss_parameters: dict[str, Any] | None = None
    C: float = 0.001
    kernel: Any = "rbf"
    degree: int = 3
    coef0: float = 1.0
    gamma: float = 1.0
    feature_norm: float | None = None
    calibration: str = "tight"
    neighbours: str = "replace"
    x_norm: float = 1.0
    fit_intercept: bool = False
    clip: bool = False
    classes: Sequence[Any] | None = None
    tolerance: float = 0.05
    random_state: Any = None

    @whole
    def fit(self, X, y):
        """Fit the private model.

        Parameters
        ----------
        X : array_like or CSR, shape (n, d)
            Rows with sqrt(K(x, x)) <= R; for "linear" and "poly" that is ||x||_2 <= `x_norm`. Some 20,000 rows are
            a matter of seconds to minutes.
        y : array_like, shape (n,)
            Two labels for a classification loss, real numbers for a regression loss.

        Returns
        -------
        self

        Raises
        ------
        DomainViolation
            If a row is above R and `clip` is False, or a bound, the loss, the kernel or a public point is unfit, or
            R^2 C is above 10^12 (Huber: 10^4).
        InvalidBudget
            If no noise serves the budget.
        ValueError
            If another parameter is not of its kind or outside its range; the message names it.
        SolverError
            If the solver did not certify its public target; nothing is released.
        """
        # What was declared wrongly is blamed before the rows are.
        budget, loss, made = Budget(self.epsilon, self.delta), self._loss(), self._kernel()
        check_flags(self, "fit_intercept", "clip")
        setting = self._setting(loss, made)
        self._check_declared(setting, budget)
        if getattr(self, "state", None) is not None:
            parameters(self)
        classes = None if self.classes is None else declared(self.classes)
        rng = generator(self.random_state)
        X, y = validated(self, X, y, numeric=not classifies(self), accept_sparse="csr")
        # Copies: answers need the rows, and what their owner does with them afterwards must not change an answer.
        X, y = X.copy(), y.copy()
        given = Domain(x_norm=1.0)
        y = self._encoded(y, classes) if classifies(self) else loss.targets_of(y, given, clip=self.clip)
        X = self._bounded(X, made)
        try:
            solved = solver.minimise(made, X, y, loss, total=setting.total, slack=setting.slack)
        except SolverError:
            solved = None
        if solved is None:
            # Not in the handler: how the solver failed would be the error's cause.
            raise SolverError(
                f"the solver did not certify ||w - w*|| <= {setting.slack:.3g}, its public target; raise `tolerance` "
                f"(now {self.tolerance}) or lower `C`"
            )
        keep(self, Diagnostics(float(solved.slack)))
        self.privacy_ = self._statement(budget, self._start(X, y, made, solved.predict, loss, setting, budget, rng))
        return self

    @abstractmethod
    def _start(
        self,
        X: Any,
        y: np.ndarray,
        made: kernels.Kernel,
        exact: Callable[[Any], np.ndarray],
        loss: Loss,
        setting: Setting,
        budget: Budget,
        rng: np.random.Generator,
    ) -> Promise:
        """Release w*, known by its `exact` predictions, or open what will answer for it."""

    def _turns(self, X: Any, y: np.ndarray, exact: Callable[[Any], np.ndarray]) -> Serving:
        """Return the turns of an interactive release; its journal, if any, is of this solution alone, to the bit."""
        if self.state is None:
            return Serving()
        terms = {
            "mechanism": type(self).__name__,
            "calibration": self.calibration,
            "budget": [float(self.epsilon), float(self.delta)],
            "neighbours": self.neighbours,
        }
        return Serving(self.state, terms, fitted(self, X, y, exact(X[:_SHOWN])))

    def _asked(self, X: Any) -> tuple[list[bytes], Mapping[bytes, Any]]:
        """Return what names each row, and the answers by name so far: for a server, in its turn."""
        told = self.dialogue_ if hasattr(self, "dialogue_") else self.path_
        return keys(self._bounded(self._queries(X), self._kernel())), told.known

    @abstractmethod
    def _check_declared(self, setting: Setting, budget: Budget) -> None:
        """Refuse a budget, calibration or other parameter that needs no data to be refused."""

    def _statement(self, budget: Budget, release: Any, stacklevel: int = 4) -> PrivacyStatement:
        made = super()._statement(budget, release, stacklevel + 1)
        # That a function of the user's own is a kernel nobody has proved, nor can its values show it.
        claimed = made.guarantee.startswith("proved") and not self._kernel().definite
        return dataclasses.replace(made, guarantee="claimed") if claimed else made

    def _kernel(self) -> kernels.Kernel:
        """Return the kernel asked for, with the constant feature of the intercept."""
        Domain(x_norm=self.x_norm)
        if isinstance(self.kernel, kernels.Kernel):
            made = self.kernel
        elif callable(self.kernel):
            if self.feature_norm is None:
                raise DomainViolation(
                    "feature_norm=None: a kernel of your own needs its public bound R on sqrt(K(x, x)); declare it"
                )
            made = kernels.custom(self.kernel, self.feature_norm)
        elif self.kernel == "linear":
            made = kernels.linear(self.x_norm)
        elif self.kernel == "poly":
            made = kernels.polynomial(self.x_norm, self.degree, self.coef0)
        elif self.kernel == "rbf":
            gamma = number("gamma", self.gamma, LEAST, MOST, ends="[]", remedy="it is 1/(2 bandwidth^2), and public")
            made = kernels.gaussian((2 * gamma) ** -0.5)
        else:
            raise ValueError(
                f"kernel={self.kernel!r} is not one of 'linear', 'poly', 'rbf', nor a dperm.kernels.Kernel, nor a "
                "callable with a declared feature_norm"
            )
        if not self.fit_intercept:
            return made
        return dataclasses.replace(
            made, name=f"{made.name} + 1", function=_PlusOne(made), R=float(np.hypot(made.R, 1.0)), squares=None
        )

    def _setting(self, loss: Loss, made: kernels.Kernel) -> Setting:
        """Return the public constants; the radius is the subclass's."""
        # A loss of bounded slope everywhere: what the model predicts is bounded by nothing else.
        lipschitz = loss.suprema(Domain(x_norm=1.0))[0]
        if not np.isfinite(lipschitz):
            raise DomainViolation(
                f"loss={loss.name!r} has no bounded slope over all predictions, and the sensitivity needs one (erratum "
                "J11); take 'hinge' or 'logistic' (two labels), or 'huber' (real targets)"
            )
        C = number("C", self.C, LEAST, MOST, ends="[]", remedy="it weighs the losses, as LibSVM's; 0.001 is usual")
        exact = Setting(lipschitz, made.R, 1 / C, neighbours=self.neighbours)
        heaviest = _HEAVIEST_HUBER if loss.targets == "real" else _HEAVIEST
        reach = made.R**2 * C
        if reach > heaviest:
            raise DomainViolation(
                f"C={C:g} with R={made.R:g} (the bound on sqrt(K(x, x)), made of kernel and x_norm): R^2 C={reach:g} "
                f"is above {heaviest:g}, beyond which the solver may miss its target for some records of the "
                f"{loss.name} loss; lower C, or scale rows down and declare a smaller x_norm (feature_norm)"
            )
        return dataclasses.replace(exact, slack=target(self.tolerance) * exact.shift)

    def _bounded(self, X, made: kernels.Kernel):
        """Return X within R: with `clip`, longer rows of "linear" and "poly" are scaled down, others become zero."""
        named = isinstance(self.kernel, str)
        if self.clip:
            X = tame_rows(X)
            if not named:
                # Refused for every data set or for none: what takes the place of a row must be allowed itself.
                kernels.within(made, np.zeros((1, X.shape[1])))
        if named and self.kernel != "rbf":
            X = _shortened(X, self.x_norm) if self.clip and sparse.issparse(X) else X
            if not sparse.issparse(X):
                X = bounded_rows(X, self.x_norm, clip=self.clip)
        elif self.clip and not named:
            X = _zeroed(X, ~kernels.allowed(made, X))
        return kernels.within(made, X)

    def _queries(self, X):
        """Return rows to predict, as `fit` would take them."""
        check_is_fitted(self)
        return queried(self, X, accept_sparse="csr")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclasses.dataclass(frozen=True)
class _PlusOne:
    """K + 1: one more feature, constant."""

    kernel: kernels.Kernel

    def __call__(self, X, V):
        return self.kernel(X, V) + 1.0


def public_points(public: Any, columns: int | None = None) -> Any:
    """Return the user's public points as floats, dense or CSR, or refuse them by their name; `columns`: those of X."""
    try:
        Z = check_array(public, dtype=np.float64, accept_sparse="csr", input_name="public")
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            "public must be a table of finite numbers, one point a row and a column for each of X's; "
            f"{type(public).__name__} is none: {error}"
        ) from error
    if columns not in (None, Z.shape[1]):
        raise ValueError(f"public has {Z.shape[1]} columns, and X has {columns}; give points of the same space")
    return Z


def _zeroed(X: kernels.Rows, rows: np.ndarray) -> kernels.Rows:
    """Put the zero row for these."""
    if not rows.any():
        return X
    return sparse.diags_array(1.0 - rows) @ X if sparse.issparse(X) else np.where(rows[:, None], 0.0, X)


def _shortened(X: sparse.csr_array, x_norm: float) -> sparse.csr_array:
    """Scale the rows above x_norm down to it, each by its own norm."""
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel())
    factors = np.where(norms > x_norm, (1 - NORM_SLACK) * x_norm / np.maximum(norms, x_norm), 1.0)
    return sparse.csr_array(sparse.diags_array(factors) @ X)
