"""Events that dp-accounting has no word for."""

from dataclasses import dataclass

from dp_accounting import dp_event


@dataclass(frozen=True)
class EpsilonDeltaDpEvent(dp_event.DpEvent):
    """A release of which only its (epsilon, delta) is known, such as objective perturbation.

    dp-accounting's accountants refuse events that they do not know, rather than guess; compose such releases by their
    (epsilon, delta).

    Parameters
    ----------
    epsilon : float
        Above 0.
    delta : float
        In [0, 1).
    """

    epsilon: float
    delta: float = 0.0
