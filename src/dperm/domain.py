"""What is public, who is a neighbour, what is spent, and what is promised."""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from dperm.errors import DomainViolation, InvalidBudget

Neighbours = Literal["add_remove", "replace"]
Calibration = Literal["paper", "corrected", "tight"]
Guarantee = Literal["proved", "proved_exact", "claimed", "none"]

# Rows this little above the bound are rounding, and are scaled down to it; rows further above are an error.
NORM_SLACK = 1e-9


def one_of(name: str, value: Any, kind: Any) -> None:
    """Raise ValueError unless `value` is among the literals of `kind`."""
    if value not in get_args(kind):
        raise ValueError(f"{name}={value!r} is not one of {', '.join(map(repr, get_args(kind)))}")


@dataclass(frozen=True)
class Budget:
    """An (epsilon, delta) that a mechanism may spend.

    Parameters
    ----------
    epsilon : float
        In (0, inf).
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
        if not (0 < self.epsilon < math.inf):
            raise InvalidBudget(f"epsilon={self.epsilon} must be a finite number above 0; usual values are 0.1 to 10")
        if not (0 <= self.delta < 1):
            raise InvalidBudget(
                f"delta={self.delta} must be in [0, 1); take 0 for pure privacy, else well below 1/n (say 1e-6)"
            )

    def share(self, fraction: float) -> "Budget":
        """Return this fraction of the budget (basic composition: shares that sum to one spend the whole)."""
        return Budget(self.epsilon * fraction, self.delta * fraction)


@dataclass(frozen=True)
class Domain:
    """Public bounds on a record (x, y) and on theta.

    Parameters
    ----------
    x_norm : float
        R, with ||x||_2 <= R for every record.
    y_bound : float, optional
        Y, with |y| <= Y; only some losses need it.
    theta_norm : float, optional
        Bound on ||theta||_2 over the feasible set, so that |<x, theta>| <= R * theta_norm; infinite by default.
    """

    x_norm: float
    y_bound: float | None = None
    theta_norm: float = math.inf

    def __post_init__(self):
        for name in ("x_norm", "y_bound", "theta_norm"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise DomainViolation(f"{name}={value} must be above 0")
        if math.isinf(self.x_norm):
            raise DomainViolation("x_norm must be finite: no mechanism here is private without a bound on the rows")

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
    calibration : {"paper", "corrected", "tight"}
        Which constants were used.
    guarantee : {"proved", "proved_exact", "claimed", "none"}
        `proved`: a proof covers exactly the released value. `proved_exact`: a proof covers the exact minimiser, and the
        released value lies within the solver's certified error of it (erratum K8). `claimed`: the paper's word only.
        `none`: the printed constants give no guarantee.
    seeded : bool
        True if the noise came from a seed: for science only, whoever knows the seed knows the noise.
    event : dp_accounting.DpEvent
        What was released, for an accountant.
    source : str
        Paper key and theorem.
    """

    epsilon: float
    delta: float
    neighbours: Neighbours
    calibration: Calibration
    guarantee: Guarantee
    seeded: bool
    event: Any
    source: str

    def __post_init__(self):
        one_of("neighbours", self.neighbours, Neighbours)
        one_of("calibration", self.calibration, Calibration)
        one_of("guarantee", self.guarantee, Guarantee)


def bounded_rows(X: np.ndarray, x_norm: float, *, clip: bool = False) -> np.ndarray:
    """Return X with every row within the public bound ||x||_2 <= x_norm.

    Parameters
    ----------
    X : ndarray, shape (n, p)
    x_norm : float
        The bound R, in (0, inf).
    clip : bool
        Scale longer rows down to the bound (each by its own norm, so that a record's row depends on that record alone)
        instead of raising.

    Raises
    ------
    DomainViolation
        If a row is longer than the bound and `clip` is False. The message gives no value of the data.
    """
    norms = np.sqrt(np.einsum("ij,ij->i", X, X))
    above = norms > x_norm
    if not above.any():
        return X
    if not clip and (norms > x_norm * (1 + NORM_SLACK)).any():
        raise DomainViolation(
            f"{int((norms > x_norm * (1 + NORM_SLACK)).sum())} of {len(X)} rows are longer than x_norm={x_norm:g}; "
            "declare the larger public bound, or pass clip=True to scale such rows down"
        )
    X = X.copy()
    X[above] *= (x_norm / norms[above])[:, None]
    return X
