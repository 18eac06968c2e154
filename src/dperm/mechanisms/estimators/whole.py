"""A fit is seen whole or not at all.

Were a failed `fit` to leave part of what it made beside part of what the fit before made, a new value could stand under
an old statement, or new data behind an old noise; so could two threads that fit one object at once. So `fit` begins
with forgetting, works on a view of the object that nobody else has, and puts all that it made in place in one step. One
that raises leaves nothing; of two at once the one that ends last stands.
"""

import contextlib
import functools
import inspect
import os
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from dperm.mechanisms import diagnostics, session

# Of what is said to who passes weights to others.
_TAKE_WEIGHTS = "ObjectivePerturbation, OutputPerturbation, NoisyGradientDescent and PreconditionedGradientDescent"


class _Swap:
    """Keeps others out while what a fit made is put in place, or taken away."""

    def __init__(self):
        self.renew()

    def renew(self) -> None:
        """Take a lock that no thread of another process holds."""
        self.lock = threading.RLock()


_SWAP = _Swap()
os.register_at_fork(after_in_child=_SWAP.renew)


def whole(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Let the method `fit` first forget what an earlier one made, and leave nothing that answers where it raises."""

    taken = set(inspect.signature(fit).parameters)

    @functools.wraps(fit)
    def fitted(self, *args, **kwargs):
        if "sample_weight" in set(kwargs) - taken:
            within = hasattr(self, "estimator") or hasattr(self, "base")
            why = "it hands none on to what it fits" if within else "its proof takes all records for alike"
            raise TypeError(
                f"{type(self).__name__} takes no sample_weight: {why}; {_TAKE_WEIGHTS} take weights, fitted by "
                "themselves, up to a public weight_bound"
            )
        with _SWAP.lock:
            _clear(self)
            made = one_fit(self)
            others = dict(vars(made))
        try:
            with session.charged(made, self, args or (kwargs.get("X"),)), ignoring_numpy_errors(made):
                fit(made, *args, **kwargs)
        except BaseException:
            # Of an interrupt as well.
            _forget(made, _changed(made, others))
            with _SWAP.lock:
                # Diagnostics say how near the solver came, unless another thread's fit stands by now.
                if "_made" not in vars(self):
                    diagnostics.move(made, self)
            raise
        found = _changed(made, others)
        # The next fit forgets these. A plain name that was there before, as a subclass's counter, is not forgotten.
        own = {name for name in found if name not in others or name.endswith("_") or name.startswith("_")}
        found["_made"] = tuple(sorted({*own, "_made"}))
        with _SWAP.lock:
            # Another thread's fit may have ended meanwhile.
            _clear(self)
            diagnostics.move(made, self)
            vars(self).update(found)
        return self

    return fitted


def ignoring_numpy_errors(model: Any) -> contextlib.AbstractContextManager:
    """Ignore what the user has set by `numpy.seterr` where the model clips: there no record may raise or warn."""
    clipped = getattr(model, "clip", False) is not False
    return np.errstate(all="ignore") if clipped else contextlib.nullcontext()


def _changed(made: Any, others: dict[str, Any]) -> dict[str, Any]:
    """Return what a fit set: names that were not there before, and those whose values are other ones."""
    return {name: value for name, value in vars(made).items() if name not in others or value is not others[name]}


def _clear(model: Any) -> None:
    """Forget what the last fit of a model made and knew."""
    diagnostics.forget(model)
    _forget(model, getattr(model, "_made", ()))


def one_fit(model: Any) -> Any:
    """Return a view of the model as it is now, for a prediction: a `fit` of another thread changes nothing of it.

    Else rows that the ledger of one fit has charged could be answered from the records of the next. The view has the
    same class and the same objects behind its names; it is fitted as a whole, or not at all. Numbers of NumPy's are
    Python's there: those of 8 or 16 bits overflow or round in all that is made of them.
    """
    view = object.__new__(type(model))
    # Copied in one piece first: a fit of another thread may add a name meanwhile.
    view.__dict__ = {name: _plain(value) for name, value in dict(vars(model)).items()}
    return view


def _plain(value: Any) -> Any:
    if isinstance(value, np.integer):
        return int(value)
    return float(value) if isinstance(value, np.floating) else value


def _forget(model: Any, made: Iterable[str]) -> None:
    """Drop what a fit made, and close its ledger. First `_made`: without it nothing counts as fitted."""
    vars(model).pop("_made", None)
    gone = {name: vars(model).pop(name) for name in made if name in vars(model)}
    if "ledger_" in gone:
        gone["ledger_"].close()
