"""No test hangs on chance: what it draws is seeded by its name, or it says how probable it is to fail by itself.

Whoever gives no seed draws from the operating system: `random_state=None`, the exact samplers of `dperm.grid`, NumPy's
and Python's own generators. Within a test that stream is one of its name, so it is the same in every run, in any order
and in any process. What cannot be seeded is OpenDP's noise (`release=True`), and what another process draws.

    @pytest.mark.chance(1e-8)

gives a test the operating system's own stream, and says that with the code as it should be it fails no oftener than
that: at most `EACH`, and over the whole suite at most `ALL`. A test that draws OpenDP's noise without it fails. How the
number comes about stands beside the test.
"""

import contextlib
import random
import secrets
import zlib
from collections.abc import Callable, Iterator

import hypothesis
import numpy as np
import pytest
from numpy.random import bit_generator

EACH, ALL = 1e-6, 1e-4

# What hypothesis tries follows from the test alone; `pytest --hypothesis-profile default` looks further.
hypothesis.settings.register_profile("dperm", derandomize=True, deadline=None)
hypothesis.settings.load_profile("dperm")

_stream = random.Random()
# Is the test that runs one that declares its chance?
_declared = False


def _seeded(real: Callable, ours: Callable) -> Callable:
    """Return a function of the operating system's stream that draws from the test's."""

    def draw(*arguments):
        return (real if _declared else ours)(*arguments)

    return draw


secrets.randbelow = _seeded(secrets.randbelow, _stream.randrange)
secrets.randbits = bit_generator.randbits = _seeded(secrets.randbits, _stream.getrandbits)


def begin(name: str) -> None:
    """Start every stream anew, at a place of this name."""
    for source in (_stream, random):
        source.seed(name)
    # scikit-learn's own, where no seed is given.
    np.random.mtrand._rand.seed(zlib.crc32(name.encode()))


@contextlib.contextmanager
def aside(name: str) -> Iterator[None]:
    """Start every stream at a place of this name for a while, and go on after it where they were."""
    before = _stream.getstate(), random.getstate(), np.random.mtrand._rand.get_state()
    begin(name)
    try:
        yield
    finally:
        for put_back, state in zip(
            (_stream.setstate, random.setstate, np.random.mtrand._rand.set_state), before, strict=True
        ):
            put_back(state)


def chance(item: pytest.Item) -> float:
    """Return how probable it is that a test fails by itself; 0 where everything is seeded."""
    return sum(mark.args[0] for mark in item.iter_markers("chance"))


@contextlib.contextmanager
def declared(item: pytest.Item) -> Iterator[None]:
    """Let a test that declares its chance draw from the operating system; another may not draw what has no seed."""
    global _declared
    _declared = item.get_closest_marker("chance") is not None
    try:
        with pytest.MonkeyPatch.context() as patch:
            with contextlib.suppress(ImportError):
                from opendp.mod import Measurement

                if not _declared:
                    patch.setattr(Measurement, "__call__", _refused)
            yield
    finally:
        _declared = False


def _refused(*_):
    pytest.fail(
        "draws OpenDP's noise, which no seed fixes: declare @pytest.mark.chance(...), see tests/helpers/chances.py"
    )


def check(items: list[pytest.Item]) -> None:
    """Refuse a suite that fails by itself too often."""
    declared = {item.nodeid: chance(item) for item in items}
    above = [name for name, found in declared.items() if not 0 <= found <= EACH]
    if above or sum(declared.values()) > ALL:
        words = f"fail by themselves oftener than {EACH:g}: {', '.join(above)}" if above else "all tests together"
        raise pytest.UsageError(
            f"chance: {words}; their sum is {sum(declared.values()):.1e}, and may be {ALL:g}: lower the thresholds, or "
            "seed what they hold"
        )
