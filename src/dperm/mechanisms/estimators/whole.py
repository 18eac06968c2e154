"""A fit is seen whole or not at all.

Were a failed `fit` to leave part of what it made beside part of what the fit before made, a new value could stand under
an old statement, or new data behind an old noise. So `fit` begins with forgetting, and one that raises leaves nothing.
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any

from dperm.mechanisms import diagnostics


def whole(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Let `fit` first forget what an earlier one made, and leave nothing that answers where it raises.

    Parameters
    ----------
    fit : callable
        The method of an estimator.

    Returns
    -------
    callable
    """

    @functools.wraps(fit)
    def fitted(self, *args, **kwargs):
        diagnostics.forget(self)
        _forget(self, getattr(self, "_made", ()))
        others = set(vars(self))
        try:
            fit(self, *args, **kwargs)
            self._made = tuple(sorted({*vars(self), "_made"} - others))
        except BaseException:
            # Of an interrupt as well.
            _forget(self, set(vars(self)) - others)
            raise
        return self

    return fitted


def one_fit(model: Any) -> Any:
    """Return a view of the model as it is now, for a prediction: a `fit` of another thread changes nothing of it.

    Else rows that the ledger of one fit has charged could be answered from the records of the next.

    Parameters
    ----------
    model : BaseEstimator

    Returns
    -------
    BaseEstimator
        Of the same class, with the same objects behind its names; fitted as a whole, or not at all.
    """
    view = object.__new__(type(model))
    view.__dict__ = dict(vars(model))
    return view


def _forget(model: Any, made: Iterable[str]) -> None:
    """Drop what a fit made, and close its ledger. First `_made`: without it nothing counts as fitted."""
    vars(model).pop("_made", None)
    gone = {name: vars(model).pop(name) for name in made if name in vars(model)}
    if "ledger_" in gone:
        gone["ledger_"].close()
