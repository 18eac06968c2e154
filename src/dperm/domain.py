"""What is public, who is a neighbour, what is spent, and what is promised."""

import math
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np

from dperm.errors import DomainViolation, InvalidBudget, ReleaseError

Neighbours = Literal["add_remove", "replace"]
# What printed mechanisms have: the paper's constants, those with a slip mended, ours.
Mended = Literal["paper", "corrected", "tight"]
Calibration = Literal[Mended, "separate"]
Guarantee = Literal["proved", "proved_exact", "claimed", "none"]
Mode = Literal["science", "release"]

# Sizes that users declare (bounds, knees): within these, what is made of them stays within a double, and the solver's
# curvature within single precision.
LEAST, MOST = 1e-30, 1e30
LARGEST_EPSILON = 1e12  # above it a budget is no privacy at all, and what is computed of it leaves the doubles
# Rows this little above the bound are rounding, and are scaled down to it; rows further above are an error.
NORM_SLACK = 1e-9
# No sum of squares of so large numbers leaves the doubles; public bounds end far below (MOST).
_TAME = 1e100
_GRADIENTS = {"add_remove": 1, "replace": 2}  # by how many records' gradients the two data sets of a pair differ


def one_of(name: str, value: Any, kind: Any) -> None:
    """Refuse a word that is not among those allowed.

    Parameters
    ----------
    name : str
        What the user calls the value.
    value : object
    kind : Literal
        The allowed words.

    Raises
    ------
    ValueError
        If `value` is none of them; the message lists them.
    """
    if not isinstance(value, str) or value not in get_args(kind):  # of an array `in` would ask each entry
        raise ValueError(f"{name}={value!r} is not one of {', '.join(map(repr, get_args(kind)))}")


def number(
    name: str,
    value: Any,
    low: float,
    high: float,
    *,
    ends: str = "()",
    error: type[ValueError] = ValueError,
    remedy: str = "",
) -> float:
    """Return `value` as a float, or refuse it.

    Parameters
    ----------
    name : str
        What the user calls the value.
    value : object
        A real number; neither a bool nor a string.
    low, high : float
        The allowed range.
    ends : {"()", "[)", "(]", "[]"}
        Which ends of the range are allowed, as in the notation of intervals.
    error : type
        What to raise.
    remedy : str
        What to do about it, for the message.

    Raises
    ------
    ValueError
        Of the type `error`, if `value` is no number of the range; the message names it, the range and the remedy.
    """
    # Strings too: YAML reads 1e-6 as one, and the message shows its quotes.
    real = type(value) is float or (isinstance(value, Real) and not isinstance(value, bool))
    given = _as_float(value) if real else math.nan
    above = low <= given if ends[0] == "[" else low < given
    below = given <= high if ends[1] == "]" else given < high
    if not (above and below):
        shown = given if real else repr(value)
        raise error(f"{name}={shown} must be a number in {ends[0]}{low:g}, {high:g}{ends[1]}{remedy and '; '}{remedy}")
    return given


def _as_float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer or a fraction beyond the doubles
        return math.inf if value > 0 else -math.inf


def integer(name: str, value: Any, least: int, remedy: str, *, error: type[ValueError] = ValueError) -> int:
    """Return `value` as an int, or refuse it: an integer from `least` to 10^20, neither a bool, a float nor a string.

    Parameters
    ----------
    name, value, remedy, error
        As of `number`.
    least : int
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise error(f"{name}={value!r} must be an integer, {least} or above; {remedy}")
    if value > 10**20:
        raise error(f"{name} must be an integer of at most 10^20; {remedy}")
    return int(value)


def checked_field(record: Any, name: str, low: float, high: float, **how: Any) -> None:
    """Check a number of a frozen dataclass, and keep it as Python's: NumPy's short ones overflow or round.

    Parameters
    ----------
    record : dataclass
    name : str
        Of the field.
    low, high, **how
        As of `number`, which says what is raised.
    """
    object.__setattr__(record, name, number(name, getattr(record, name), low, high, **how))


def changed_gradients(neighbours: Neighbours) -> int:
    """Return by how many records' gradients the data sets of a pair differ: 1 for add/remove, 2 for replace-one.

    Parameters
    ----------
    neighbours : {"add_remove", "replace"}
    """
    one_of("neighbours", neighbours, Neighbours)
    return _GRADIENTS[neighbours]


@dataclass(frozen=True)
class Budget:
    """An (epsilon, delta) that a mechanism may spend.

    Parameters
    ----------
    epsilon : float
        In (0, 1e12].
    delta : float
        In [0, 1); 0 for pure differential privacy.

    Raises
    ------
    InvalidBudget
        If a value is outside its range or not finite.
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self):
        usual, pure = "usual values are 0.1 to 10", "take 0 for pure privacy, else well below 1/n (say 1.0e-6)"
        checked_field(self, "epsilon", 0, LARGEST_EPSILON, ends="(]", error=InvalidBudget, remedy=usual)
        checked_field(self, "delta", 0, 1, ends="[)", error=InvalidBudget, remedy=pure)

    def share(self, fraction: float) -> "Budget":
        """Return this fraction of the budget (basic composition: shares that sum to one spend the whole).

        Parameters
        ----------
        fraction : float
            In (0, 1].

        Raises
        ------
        InvalidBudget
            If the fraction is not in (0, 1]: no share is more than the whole.
        """
        remedy = "it is a share of the budget"
        fraction = number("fraction", fraction, 0, 1, ends="(]", error=InvalidBudget, remedy=remedy)
        return Budget(self.epsilon * fraction, self.delta * fraction)


@dataclass(frozen=True)
class Domain:
    """Public bounds on a record (x, y) and on theta.

    Parameters
    ----------
    x_norm : float
        R in [1e-30, 1e30], with ||x||_2 <= R for every record.
    y_bound : float, optional
        Y in [1e-30, 1e30], with |y| <= Y; only some losses need it.
    theta_norm : float, optional
        Bound on ||theta||_2 over the feasible set, so that |<x, theta>| <= R * theta_norm; infinite by default.

    Raises
    ------
    DomainViolation
        If a bound is not a number above 0, or `x_norm` or `y_bound` is outside its range.
    """

    x_norm: float
    y_bound: float | None = None
    theta_norm: float = math.inf

    def __post_init__(self):
        rows = "it is the public bound on the length of every row, in the units of the features"
        checked_field(self, "x_norm", LEAST, MOST, ends="[]", error=DomainViolation, remedy=rows)
        if self.y_bound is not None:
            target = "it is the public bound on |y|; leave it out where there is none"
            checked_field(self, "y_bound", LEAST, MOST, ends="[]", error=DomainViolation, remedy=target)
        ball = "it is the radius of the feasible set; leave it out where theta is free"
        checked_field(self, "theta_norm", 0, math.inf, ends="(]", error=DomainViolation, remedy=ball)

    @property
    def margin_bound(self) -> float:
        """Bound on |u| = |<x, theta>|."""
        return self.x_norm * self.theta_norm


@dataclass(frozen=True)
class PrivacyStatement:
    """What a released object promises, in the words of docs/privacy.md.

    Parameters
    ----------
    epsilon, delta : float
        The promise: (epsilon, delta)-differential privacy.
    neighbours : {"add_remove", "replace"}
        The relation under which it is promised.
    calibration : {"paper", "corrected", "tight", "separate"}
        Which constants were used.
    guarantee : {"proved", "proved_exact", "claimed", "none"}
        `proved`: a proof covers exactly the released value. `proved_exact`: a proof covers the exact minimiser, and the
        released value lies within the solver's certified error of it (erratum K8). `claimed`: the word of the paper
        alone, or of the user (a `stability`, a kernel of one's own). `none`: the printed constants give no guarantee.
    seeded : bool
        True if the noise came from a seed: for science only, whoever knows the seed knows the noise.
    event : dp_accounting.DpEvent
        What was released, for an accountant.
    source : str
        Paper key and theorem.
    mode : {"science", "release"}
        "release": no part of the noise was ever a floating-point number or came from a seed, so the value may leave the
        house. "science": for experiments only.
    covers : tuple of str
        The attributes, or methods' answers, that are promised, with all that is computed from them and public values.
    reason : str
        Why the guarantee is `none`; empty otherwise.
    unit : str
        What is added, removed or replaced: a record, or a person (`PerPerson`).
    total : bool
        Whether no record can make `fit` raise or warn (`clip=True`, and labels declared), as far as tests go; of a
        `Student` its teacher's (docs/privacy.md, section 1). Else errors are for the eyes of whoever may see the data.
    """

    epsilon: float
    delta: float
    neighbours: Neighbours
    calibration: Calibration
    guarantee: Guarantee
    seeded: bool
    event: Any
    source: str
    mode: Mode = "science"
    covers: tuple[str, ...] = field(kw_only=True)
    reason: str = field(default="", kw_only=True)
    unit: str = field(default="record", kw_only=True)
    total: bool = field(default=False, kw_only=True)

    def __post_init__(self):
        checked_field(self, "epsilon", 0, math.inf, ends="(]", error=InvalidBudget, remedy="else nothing is promised")
        checked_field(self, "delta", 0, 1, ends="[)", error=InvalidBudget, remedy="else nothing is promised")
        one_of("neighbours", self.neighbours, Neighbours)
        one_of("calibration", self.calibration, Calibration)
        one_of("guarantee", self.guarantee, Guarantee)
        one_of("mode", self.mode, Mode)
        if not (isinstance(self.covers, tuple) and self.covers and all(isinstance(name, str) for name in self.covers)):
            raise ValueError(f"covers={self.covers!r} must name what is promised, such as ('coef_', 'intercept_')")
        if (self.guarantee == "none") != bool(self.reason):
            raise ValueError(f"guarantee={self.guarantee!r} with reason={self.reason!r}: 'none', and only it, has one")
        if self.seeded and self.mode == "release":
            raise ReleaseError("mode='release' with seeded=True: whoever knows the seed knows the noise; draw it anew")

    def __str__(self):
        relation = {"add_remove": "adding or removing", "replace": "replacing"}[self.neighbours]
        promise = f"({self.epsilon:g}, {self.delta:g})-differential privacy for {relation} one {self.unit}"
        covered = f"covers {', '.join(self.covers)} and what is computed from these alone"
        word = self.guarantee.replace("_", " ") + (f", because {self.reason}" if self.reason else "")
        if self.mode == "release":
            use = "release: integer noise from the operating system"
        elif self.seeded:
            use = "for science only: whoever knows the seed knows the noise"
        else:
            use = "for science only: its noise is a floating-point number, or of a generator that is not cryptographic"
        told = "no record makes fit fail or warn, as far as tests go (docs/privacy.md, section 1)"
        errors = told if self.total else "errors and warnings of fit are not covered"
        return f"{promise}; {covered}; {errors}; guarantee: {word}; {use} ({self.calibration}; {self.source})"


def tame_rows(X: Any, *, most: float = _TAME) -> Any:
    """Return X without NaN, infinity or numbers beyond 1e100: what comes first where clipping makes `fit` total.

    A row that holds NaN or infinity becomes the zero row, and one with an entry beyond `most` is scaled down until none
    is. n may be 0. What becomes of a row depends on that row alone: so data sets that differ by one record (added,
    removed or replaced) are mapped to data sets that differ by at most one, and every sensitivity stands.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, p)
    most : float

    Returns
    -------
    ndarray or CSR, shape (n, p)
        `X` itself if no row had to be changed, else a copy.
    """
    if not X.shape[0]:
        return X
    is_sparse = hasattr(X, "indptr")
    top = abs(X).max(axis=1).toarray().ravel() if is_sparse else np.maximum(X.max(axis=1), -X.min(axis=1))
    odd = ~(top <= most)
    if not odd.any():
        return X
    X, broken = X.copy(), ~np.isfinite(top)
    # A little inward, so that rounding leaves nothing above.
    inward = most * (1 - 4 * np.finfo(float).eps)
    factors = np.where(broken, 0.0, np.where(odd, inward / np.where(odd & ~broken, top, 1.0), 1.0))
    if is_sparse:
        entries = np.diff(X.indptr)
        X.data[np.repeat(broken, entries)] = 0.0
        X.data *= np.repeat(factors, entries)
        return X
    X[broken] = 0.0
    X[odd] *= factors[odd, None]
    return X


def bounded_rows(X: Any, x_norm: float, *, clip: bool = False) -> Any:
    """Return X with every row within the public bound ||x||_2 <= x_norm.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, p)
        Numbers of any type; the result is float64.
    x_norm : float
        The bound R, in (0, inf).
    clip : bool
        Scale longer rows down to the bound instead of raising, each by its own norm, and put the zero row for one that
        holds NaN or infinity (`tame_rows`): a record's row depends on that record alone.

    Returns
    -------
    ndarray or CSR, shape (n, p)
        `X` itself if it is float64 and no row had to be scaled, else a copy.

    Raises
    ------
    DomainViolation
        If `clip` is False and a row holds NaN or infinity, or is longer than the bound. The message gives nothing of
        the data, nor how many rows there are.
    """
    is_sparse = hasattr(X, "indptr")
    X = X.astype(np.float64, copy=False) if is_sparse else np.asarray(X, dtype=np.float64)
    X = tame_rows(X) if clip else X
    norms = _norms(X)
    if not np.isfinite(norms).all():
        raise DomainViolation(
            "X has rows with NaN or infinity (or their length overflows); drop or mend them first, or pass clip=True, "
            "which puts zero rows for them"
        )
    above = norms > x_norm
    if not above.any():
        return X
    if not clip and (norms > x_norm * (1 + NORM_SLACK)).any():
        raise DomainViolation(
            f"X has rows longer than x_norm={x_norm:g}; declare the larger public bound, or pass clip=True to scale "
            "such rows down"
        )
    # Rounding in the norm and in the product stays below this many ulps, so no scaled row ends above the bound.
    inward = 1 - (X.shape[1] + 8) * np.finfo(float).eps
    X, factors = X.copy(), inward * x_norm / norms[above]
    if is_sparse:
        entries = np.diff(X.indptr)
        X.data[np.repeat(above, entries)] *= np.repeat(factors, entries[above])
    else:
        X[above] *= factors[:, None]
    return X


def _norms(X: Any) -> np.ndarray:
    """Row norms, also of finite rows whose squares overflow."""
    is_sparse = hasattr(X, "indptr")
    with np.errstate(over="ignore"):
        squares = X.multiply(X).sum(axis=1) if is_sparse else np.einsum("ij,ij->i", X, X)
        norms = np.sqrt(np.asarray(squares).ravel())
    for row in np.flatnonzero(np.isinf(norms)):
        norms[row] = math.hypot(*(X[[row]].data if is_sparse else X[row]))
    return norms
