"""What is known about a fit but not covered by its privacy statement: only the curator may see it.

A certificate is a function of the data without noise: whoever sees it for two neighbouring data sets can tell them
apart. So no estimator carries it. It is kept here under the identity of the fitted object, and is dropped together with
that object; a copy, a pickle and another process do not have it.
"""

import weakref
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Diagnostics:
    """What a fit knows without privacy.

    Parameters
    ----------
    certificate : float
        Upper bound on the distance of the solver's point from the point that the proof speaks of, before output noise;
        of the support selections the error of a score, or the largest duality gap of a block's lasso.
    converged : bool
        Whether the solver reached its public target. Where it did not, `fit` raised and released nothing.
    retrieved : float, optional
        Of NAPP: share of (1 - r) epsilon that was retrieved. Public for "ridge" alone.
    """

    certificate: float
    converged: bool = True
    retrieved: float | None = None


@dataclass(frozen=True)
class Encoded:
    """What a `PublicEncoder` met in its last `transform`: private, as the records are.

    Parameters
    ----------
    missing, unknown, outside : dict
        Column to how many records lacked a value, held none that the column may hold, or one out of range.
    first : dict
        Column to the first such value, as text; of missing ones only where no place is declared.
    """

    missing: dict[str, int]
    unknown: dict[str, int]
    outside: dict[str, int]
    first: dict[str, str]


# By id: an estimator may compare by value, and then two of them would share an entry of a dictionary of theirs.
KEPT: dict[int, Diagnostics | Encoded | None] = {}


def keep(model: Any, found: Diagnostics | Encoded) -> None:
    """Keep what is known of an object's last fit, for as long as the object lives."""
    key = id(model)
    if key not in KEPT:
        # Called when the object dies, before its id can be another's.
        weakref.finalize(model, KEPT.pop, key, None).atexit = False
    KEPT[key] = found


def forget(model: Any) -> None:
    """Forget what is known of an object's last fit."""
    if id(model) in KEPT:
        KEPT[id(model)] = None


def move(model: Any, other: Any) -> None:
    """Let what is known of a fit be known of another object instead, if there is anything."""
    found = KEPT.get(id(model))
    forget(model)
    if found is not None:
        keep(other, found)


def diagnostics(model: Any) -> Diagnostics | Encoded:
    """Return what the last fit of this very object knows without privacy: never publish it.

    Parameters
    ----------
    model : estimator
        Fitted in this process; copies and unpickled models have no diagnostics.

    Returns
    -------
    Diagnostics
        Of a `PublicEncoder` an `Encoded`.

    Raises
    ------
    ValueError
        If there are none.

    References
    ----------
    kifer2012, erratum K8 (the certificate); docs/privacy.md, section 5.

    Examples
    --------
    >>> import numpy as np
    >>> import dperm
    >>> X = np.array([[0.6, 0.0], [0.0, 0.8], [-0.5, 0.1], [0.1, -0.7]] * 50)
    >>> y = np.array([1, 1, 0, 0] * 50)
    >>> model = dperm.OutputPerturbation(epsilon=2.0, classes=(0, 1), random_state=0).fit(X, y)
    >>> dperm.diagnostics(model).converged, hasattr(model, "certificate_")
    (True, False)
    """
    found = KEPT.get(id(model))
    if found is None:
        raise ValueError(
            f"there are no diagnostics of this {type(model).__name__}: it was not fitted in this process (a copy or a "
            "pickle carries none), or its mechanism has no solver; fit it here"
        )
    return found
