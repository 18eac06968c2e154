"""The generators that a process has once, of `np.random` and `random`: each shard's learner has its own state of them.

What is given no seed of its own, as a splitter of cross-validation, draws from these. Were they left alone, the learner
of one shard would go on where another one stopped, which is after as many draws as that one's records asked for: one
record would move several models. So they are seeded before each `fit` and each `predict` of a shard's learner, and
afterwards stand as the caller had them.

One thread at a time has them. So learners of several fits or predictions take turns, and one that waits within its own
`fit` for the learner of another private predictor waits for ever. Out of reach are threads that draw from them without
this library, other processes that a learner keeps, and generators of other libraries (docs/privacy.md, section 12).
"""

import contextlib
import os
import random
import threading
from collections.abc import Callable, Iterator

import numpy as np


class _Turn:
    def __init__(self):
        self.renew()

    def renew(self) -> None:
        """Take a lock that no thread of another process holds."""
        self.lock = threading.RLock()


_TURN = _Turn()
os.register_at_fork(after_in_child=_TURN.renew)


@contextlib.contextmanager
def apart() -> Iterator[Callable[[int], None]]:
    """Lend both generators, and put back what was there: yields a function that seeds them, by a number below 2^32."""
    with _TURN.lock:
        # A program may have put another bit generator in the place of NumPy's.
        theirs, numpys, pythons = np.random.get_bit_generator(), np.random.get_state(legacy=False), random.getstate()
        own = np.random.MT19937(0)

        def begin(seed: int) -> None:
            np.random.set_bit_generator(own)
            np.random.seed(seed)
            random.seed(seed)

        try:
            yield begin
        finally:
            np.random.set_bit_generator(theirs)
            np.random.set_state(numpys)
            random.setstate(pythons)
