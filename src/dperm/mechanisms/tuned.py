r"""NAPP-ERM whose Lambda is chosen on the private data themselves: CMS11's Algorithm 3 (li2021, Section 3.4).

li2021 recommends "the two strategies given in [6]" for Lambda, and [6], Chaudhuri, Monteleoni & Sarwate 2011, has these
in its Section 6: choose Lambda on public data, which costs no privacy (Lambda is then a constant of `napp`); or

    divide D into m + 1 portions; f_i = NAPP-ERM on portion i with Lambda_i and all of (epsilon, delta), i = 1, ..., m;
    z_i = mistakes of f_i on portion m + 1; release f_i with probability proportional to exp(-epsilon z_i/2).

A record is in one portion. If it is in one of the first m, it changes the law of one f_i, by (epsilon, delta), and what
follows is post-processing. If it is in the last, it changes every z_i by at most 1, and the choice, an exponential
mechanism, costs epsilon.

That holds if no other record changes its portion. As printed the portions are "equal":
cut by place, from n. Under add/remove, which is li2021's relation, a record that comes moves the cuts, and up to m
portions lose one record and gain another (erratum N19).

    calibration      portions                                        exponent                 base
    "paper"          cut by place                                    epsilon/2                `napp`, paper
    "corrected"      add/remove: each record draws its own           epsilon/2                `napp`, corrected
                     replace-one: cut by place (n is public)
    "tight"          as corrected                                    add/remove: epsilon      `napp`, tight
                                                                     replace-one: epsilon/2

A draw for each record depends on no other record: the release is a mixture of (epsilon, delta)-private ones over all
ways of drawing. Under add/remove all z_i move the same way, by 0 or 1, so that exp(-epsilon z_i) costs epsilon:
q_i'/q_i = exp(-epsilon u_i) (sum of exp(-epsilon z))/(sum of exp(-epsilon z')) for u_i in {0, 1} is within
e^(+-epsilon).

Only losses of two labels have mistakes. What is proved is proved of the exact minimisers (`proved_exact`).
"""

from dataclasses import dataclass

import numpy as np

from dperm.domain import Budget, Calibration, Domain, Mended, Neighbours, one_of
from dperm.mechanisms import napp
from dperm.mechanisms.base import Release, budget_event
from dperm.mechanisms.napp import losses

CALIBRATIONS = ("paper", "corrected", "tight")


@dataclass(frozen=True)
class TunedRelease(Release):
    """A `Release`, which of the strengths was chosen, and what nobody but the curator may see.

    - chosen: shape (repeats,); index of Lambda_i, released with f_i.
    - candidates: shape (repeats, m, p); every f_i; not private together with `mistakes`.
    - mistakes: shape (repeats, m); z_i.
    """

    chosen: np.ndarray | None = None
    candidates: np.ndarray | None = None
    mistakes: np.ndarray | None = None


def portions(n: int, number: int, *, by_place: bool, rng: np.random.Generator) -> np.ndarray:
    """Return each record's portion: consecutive and as equal as can be if `by_place`, else drawn for each record."""
    return np.arange(n) * number // max(n, 1) if by_place else rng.integers(number, size=n)


def cut_by_place(calibration: Calibration, neighbours: Neighbours) -> bool:
    """Return whether portions are cut by place, from n."""
    return calibration == "paper" or neighbours == "replace"


def rate(epsilon: float, calibration: Calibration, neighbours: Neighbours) -> float:
    """Return what a mistake costs in the exponent of the choice."""
    return epsilon if calibration == "tight" and neighbours == "add_remove" else epsilon / 2


def mistakes(theta: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the number of wrong labels of every theta (..., p); the label is 1 iff <x, theta> > 0."""
    return ((theta @ X.T > 0) != (y > 0)).sum(axis=-1)


def choice(counts: np.ndarray, exponent: float, rng: np.random.Generator) -> np.ndarray:
    """Return an index with probability proportional to exp(-exponent counts), for each row of counts (..., m)."""
    # The largest of Gumbel's numbers, moved by the exponents: the exponential mechanism without its quotient.
    return np.argmax(rng.gumbel(size=counts.shape) - exponent * counts, axis=-1)


def guaranteed(planned: napp.Plan, calibration: Calibration, neighbours: Neighbours) -> str:
    """Return what is proved of a release whose f_i are planned so."""
    recut = cut_by_place(calibration, neighbours) and neighbours == "add_remove"
    return "none" if recut or planned.obstacles else "proved_exact"


def release(
    X: np.ndarray,
    y: np.ndarray,
    loss: str,
    *,
    strengths: np.ndarray,
    domain: Domain,
    budget: Budget,
    neighbours: Neighbours,
    calibration: Calibration,
    rng: np.random.Generator,
    repeats: int = 1,
    penalty: str = "lasso",
    share: float = 0.5,
    bounds: napp.Bounds | None = None,
) -> TunedRelease:
    """Release `repeats` independent models, each with a Lambda chosen anew.

    - X, y, loss, penalty, domain, budget, share, bounds: as for `napp.release`; a loss of two labels.
    - strengths: shape (m,); Lambda_1, ..., Lambda_m, public.
    - Source: Chaudhuri, Monteleoni & Sarwate 2011, Algorithm 3; li2021, Section 3.4.
    """
    one_of("calibration", calibration, Mended)
    one_of("neighbours", neighbours, Neighbours)
    if losses.make(loss).targets != "binary":
        raise ValueError(f"loss={loss!r} has no mistakes to count; take 'logistic' or 'smoothed_hinge'")
    form = {"penalty": penalty, "domain": domain, "budget": budget, "neighbours": neighbours, "share": share}
    form |= {"calibration": calibration, "bounds": bounds}
    number = len(strengths)
    theta = np.empty((repeats, number, X.shape[1]))
    certificate, converged = np.empty((repeats, number)), np.empty((repeats, number), bool)
    counts = np.empty((repeats, number), int)
    by_place = cut_by_place(calibration, neighbours)
    for repeat in range(repeats):
        portion = portions(len(X), number + 1, by_place=by_place, rng=rng)
        for i, strength in enumerate(strengths):
            own = portion == i
            found = napp.release(X[own], y[own], loss, strength=float(strength), rng=rng, **form)
            theta[repeat, i], converged[repeat, i] = found.theta[0], found.converged[0]
            certificate[repeat, i] = found.certificate[0]
        held = portion == number
        counts[repeat] = mistakes(theta[repeat], X[held], y[held])
    chosen = choice(counts, rate(budget.epsilon, calibration, neighbours), rng)
    planned = napp.plan(loss, X.shape[1], strength=float(strengths[0]), **form)
    every = np.arange(repeats)
    return TunedRelease(
        theta[every, chosen], certificate[every, chosen], converged.all(axis=1),
        guaranteed(planned, calibration, neighbours), budget_event(budget), chosen=chosen, candidates=theta,
        mistakes=counts,
    )  # fmt: skip
