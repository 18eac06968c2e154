"""What a fitted object tells besides what its statement covers: its pickle, its words, and whether there is one at all.

An object that is made to be published is handed on as a pickle (joblib's is one too). Fits on D and on its neighbour,
each with noise of its own from the operating system, are compared by all that is left when what the statement covers is
taken out: the pickled rest, `repr`, the statement's words; and where `fit` refuses the records, the error's. What is
left must not depend on the records, and on the same records it has to be the same in every fit: what differs by itself
(a random salt) could hide what differs with the records, and is an error. The event is "what is left is that of a first
fit on D"; hits are counted.

Pairs. A corner of what is declared; with clip=True records that are no numbers, or too large for one; and a record that
is one of the public points, where there are any.

Neighbouring relation: each row's.
"""

import hashlib
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dperm.audit import columns
from dperm.audit.called.corners import Call
from dperm.errors import DataError

# Fits on either side on average: all against none of them refute epsilon = 1 with p < 1e-5. A fair coin has decided the
# side of each (dperm.audit.bounds), thrown once and for all.
FITS = 40
# Where so many on either side all leave the same the others are not made: whatever they left, epsilon = 1 would have
# p > 0.15. To stop where nothing is to be refuted any more refutes no true claim oftener.
LOOK = 10


def attacks(call: Call, neighbours: str) -> Iterator[dict[str, Any]]:
    """Give the attacks on one object, as columns; DataError if fits on the same records differ in what is left."""
    common = [(0.0, call.targets[0])]
    # Under replace-one what is replaced holds nothing.
    rest = common if neighbours == "add_remove" else [*common, common[0]]
    guarantee, reference = _fitted(call.make, rest).privacy_.guarantee, fingerprint(call.make, rest)
    planned = int(np.random.default_rng(FITS).binomial(2 * FITS, 0.5))
    tries, hits = 0, 0

    def alike(records, number):
        return sum(fingerprint(call.make, records) == reference for _ in range(number))

    for record in _records(call):
        met, others, wanted = LOOK, alike([*common, record], LOOK), LOOK
        if others < LOOK:
            met, wanted = 2 * FITS - planned, planned
            others += alike([*common, record], met - LOOK)
        hits, tries = hits + alike(rest, wanted - tries), max(wanted, tries)
        if hits < tries:
            raise DataError(
                f"{call.words}: {tries - hits} of {tries} fits on the same records tell something else besides what "
                "the statement covers; the attack compares what does not change by itself"
            )
        yield {
            "guarantee": guarantee,
            "loss": getattr(call.make(), "loss", None),
            "pair_words": f"{call.words}: {record} {'comes' if neighbours == 'add_remove' else 'replaces (0.0, 0)'}",
            "attack": columns.SAMPLING,
            "model": "none",
            "likelier": "data",
            "event": "what the statement does not cover is that of another fit on the data",
            "draws": FITS if met > LOOK else LOOK,
            "hits": wanted,
            "tries": wanted,
            "other_hits": others,
            "other_tries": met,
        }


def fingerprint(make: Callable[[], Any], records: list[tuple[float, float]]) -> str:
    """Return a digest of all that a fit tells besides what its statement covers."""
    try:
        model = _fitted(make, records)
    except Exception as error:
        # Any error at all tells something: whoever sees it knows that there was one.
        return f"{type(error).__name__}: {error}"
    handed_on = model.__getstate__()
    rest = {name: value for name, value in handed_on.items() if name not in model.privacy_.covers}
    said = (repr(model), str(model.privacy_))
    return hashlib.sha256(pickle.dumps((sorted(rest), [rest[name] for name in sorted(rest)], said))).hexdigest()


def _fitted(make: Callable[[], Any], records: list[tuple[float, float]]) -> Any:
    x, y = np.array(records, dtype=float).T
    return make().fit(x[:, None], y)


def _records(call: Call) -> list[tuple[float, float]]:
    """Return the records that come."""
    model, least, most = call.make(), call.targets[0], call.targets[-1]
    found = [(1.0, most)]
    if getattr(model, "public", None) is not None:
        found.append((float(model.public[0][0]), least))
    if model.clip:
        found += [(np.nan, least), (1e308, least), (1.0, np.inf), (1.0, 7.0)]
    return found
