"""What every kind of test shares."""

import atexit
import contextlib
import gc
import os
import signal
from pathlib import Path

import chances
import pytest
from threadpoolctl import threadpool_limits

from dperm.solvers import blas  # noqa: F401

# Each process of the tests has its share of the cores, and a second thread of BLAS spins until its next small matrix:
# a third of the time of the estimators' tests. Who asks for more threads gets them, and what a test starts has its own.
threadpool_limits(1, "blas")

# In seconds, of the setting up of a test, of itself, and of the tidying up, each. Where no Python runs any more, within
# C code, a thread of pytest's that needs none ends the process later (`faulthandler_timeout` in pyproject.toml).
LIMIT = 900.0
# Of what is still to be tidied up when the limit is reached, as a child that somebody waits for.
AGAIN = 10.0


def _heed():
    """Let this process, and what it starts, be ended: by a Ctrl-C and by SIGTERM.

    Started in the background of a script (`nohup make test &`) all would ignore a Ctrl-C, or worse; and a Snakemake
    that a test ran in this process leaves its own handler of SIGTERM behind.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for ends in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(ends, signal.SIG_DFL)


_heed()


@contextlib.contextmanager
def _limited(item):
    """Fail a phase of a test that reaches the limit, and go on to fail whatever waits after that."""
    own = item.get_closest_marker("limit")
    limit = own.args[0] if own else LIMIT

    def over(*_):
        pytest.fail(f"more than {limit:g} s (LIMIT in tests/conftest.py, or the test's own)")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, limit, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _phase(what):
    @pytest.hookimpl(wrapper=True)
    def run(item):
        if what == "before":
            _heed()
        chances.begin(f"{what} {item.nodeid}")
        with chances.declared(item), _limited(item):
            return (yield)

    return run


# Not around all three: what is raised between them would be an error of pytest's own.
pytest_runtest_setup, pytest_runtest_call, pytest_runtest_teardown = map(_phase, ("before", "in", "after"))


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """Give a fixture of several tests a stream of its own, whichever of them comes first."""
    if fixturedef.scope == "function":
        return (yield)
    with chances.aside(f"{fixturedef.baseid} {fixturedef.argname} {request.param_index}"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep what is collected out of the collector's sight: it stays to the end, and is a million objects to go through.

    Else a third of the time to collect the tests, and a twelfth of that to run them, is spent looking at it again.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()
        # At the very end all is tidied up, as extensions that count what is left expect it. Before that pytest
        # collects twice more, in seconds if it has to look at all of this.
        atexit.register(gc.unfreeze)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    chances.check(items)


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder with the real data sets. Where DPERM_MIRROR names one, a set that is not in it is a failure."""
    folder = os.environ.get("DPERM_MIRROR")
    if not folder:
        pytest.skip(
            "needs real data, and DPERM_MIRROR is not set; to fetch it: "
            "snakemake --cores 1 resources/downloads/adult.json, then: DPERM_MIRROR=resources/downloads make test"
        )
    return Path(folder)
