r"""One model for each class against the rest, as a user calls it: the exact joint law of all that is released.

`PrivateOneVsRest` over output perturbation on one feature: theta_j = c_j + noise_j for each of k classes, c_j a
function of the records. The generator is listened to, so that c_j and the scale are known of every fit, whatever its
statement says; the scale has to be the same in all. A record moves every c_j, by its one positive and its k - 1
negative roles.

    Gaussian    N(c, sigma^2 I), attacked on the line through the two centres;
    Laplace     each class has two outcomes, theta_j on the one or the other side of the centre that the record moves it
                to, and all have 2^k.

Neighbouring relation: each row's.
"""

import itertools
from typing import Any

import numpy as np

from dperm.audit import columns, exact
from dperm.audit.called import brackets, corners
from dperm.audit.called.brackets import BracketedLaw
from dperm.audit.called.recording import RecordingGenerator
from dperm.errors import DataError
from dperm.laws.tails import lower_tail
from dperm.mechanisms.estimators.one_vs_rest import PrivateOneVsRest
from dperm.mechanisms.estimators.output import OutputPerturbation
from dperm.noise import Gaussian, SphericalLaplace

# A loss whose slope is as steep as it gets where theta is; all records beside the one that comes lie at 0.
_GIVEN = {"loss": "smoothed_hinge", "curvature": 200.0}
_CLASSES = (0, 1, 2)
# Scales nearer than this share are one.
_SAME = 1e-9


def attack(
    neighbours: str, epsilon: float, delta: float, rng: np.random.Generator, make: type = PrivateOneVsRest
) -> dict[str, Any]:
    """Return the strongest attack on three models (`make`: of one class against the rest), as columns of an attack."""
    fits = fitted(neighbours, epsilon, delta, rng, make)
    law = next(iter(fits.values()))[1]
    pairs = corners.pairs(fits, neighbours)
    if isinstance(law, Gaussian):
        found, pair = max(
            ((_on_a_line(law, *(fits[one][0] for one in pair), delta), pair) for pair in pairs),
            key=lambda one: one[0].epsilon,
        )
        told = columns.of_bracket(found)
    else:
        every = [(exact.exact(outcomes(law, fits, pair), [pair], delta=delta), pair) for pair in pairs]
        found, pair = max(every, key=lambda one: one[0].epsilon)
        told = columns.of_finite(found)
    return {
        "guarantee": fits[pair[0]][2].privacy_.guarantee,
        "loss": _GIVEN["loss"],
        "pair_words": f"{make.__name__}, three classes: {corners.change(*pair)}",
        **told,
    }


def fitted(
    neighbours: str, epsilon: float, delta: float, rng: np.random.Generator, make: type = PrivateOneVsRest
) -> dict[Any, tuple[np.ndarray, Any, Any]]:
    """Return (centres, law of the noise, model) of a fit with each record at the bound, under add/remove without too.

    DataError if the noise depends on the records, or there is another number of noises than of models.
    """
    records = [(x, y) for x in (1.0, -1.0) for y in _CLASSES]
    found = {}
    for record in [*([None] if neighbours == "add_remove" else []), *records]:
        x, y = np.array([*([record] if record else []), (0.0, 0)]).T
        listening = RecordingGenerator(np.random.PCG64(int(rng.integers(2**63))), [], [])
        estimator = OutputPerturbation(**_GIVEN, neighbours=neighbours)
        model = make(estimator, classes=_CLASSES, epsilon=epsilon, delta=delta, random_state=listening)
        model.fit(x[:, None], y.astype(int))
        if len(listening.drawn) != len(_CLASSES):
            raise DataError(f"{make.__name__}: {len(listening.drawn)} noises of {len(_CLASSES)} models")
        laws, noises = zip(*listening.drawn, strict=True)
        found[record] = model.coef_.ravel() - np.concatenate(noises), laws[0], model
        first = next(iter(found.values()))[1]
        if any(type(law) is not type(first) or abs(law.scale / first.scale - 1) > _SAME for law in laws):
            raise DataError(f"{make.__name__}: the law of the noise depends on the records or the class")
    return found


def _on_a_line(law: Gaussian, first: np.ndarray, second: np.ndarray, delta: float) -> Any:
    """Attack N(first, scale^2 I) against N(second, scale^2 I)."""
    apart, slack = float(np.linalg.norm(second - first)), _SAME * law.scale
    lines = [BracketedLaw(lambda t, c=centre: (t - c) / law.scale, Gaussian, slack) for centre in (0.0, apart)]
    return brackets.attack(*lines, delta=delta)


def outcomes(law: SphericalLaplace, fits: dict, pair: tuple[Any, Any]) -> Any:
    """Return the map of a record to the probabilities of 2^k outcomes: which theta_j lie beyond the second's centre."""
    first, second = (fits[one][0] for one in pair)
    side = np.where(second >= first, 1.0, -1.0)

    def probabilities(record):
        # Beyond that centre, as seen from the first one.
        beyond = lower_tail(SphericalLaplace(1.0), side * (fits[record][0] - second) / law.scale)
        return np.array([np.prod(one) for one in itertools.product(*zip(beyond, 1 - beyond, strict=True))])

    return probabilities
