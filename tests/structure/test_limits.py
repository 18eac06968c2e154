"""The tests themselves: none waits without end, and none is deaf to signals because of how it was started."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from types import SimpleNamespace

import chances
import pytest
import together

ROOT = Path(__file__).parents[2]
CONFTEST = ROOT / "tests/conftest.py"
STUCK = """
import itertools, signal, subprocess, sys, time
import pytest

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]

def test_sleeps():
    time.sleep(600)

def test_waits_for_a_child():
    subprocess.run(SLEEP)

def test_waits_again_when_it_has_failed():
    with subprocess.Popen(SLEEP) as child:
        try:
            child.wait()
        finally:
            child.kill()
            time.sleep(600)

@pytest.fixture
def slow():
    time.sleep(600)

def test_is_set_up(slow):
    pass

@pytest.fixture
def left():
    yield
    time.sleep(600)

def test_is_tidied_up(left):
    pass

def test_runs_what_handles_signals_itself():
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])

def test_comes_after_it():
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()
"""
IN_C = """
import itertools

def test_stays_in_c_code():
    sum(itertools.repeat(0))

def test_comes_after_it():
    pass
"""


def command(*arguments, start=("-m", "pytest")):
    return [sys.executable, *start, "-q", "-p", "no:cacheprovider", *map(str, arguments)]


def run(*arguments, **settings):
    return subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=120, **settings)


def limited(folder, source, *arguments, limit=60.0, **settings):
    """The command that runs these tests under our limits, made short."""
    text = CONFTEST.read_text(encoding="utf-8")
    assert "\nLIMIT = 900.0\n" in text and "\nAGAIN = 10.0\n" in text
    short = text.replace("\nLIMIT = 900.0\n", f"\nLIMIT = {limit}\n").replace("\nAGAIN = 10.0\n", "\nAGAIN = 0.3\n")
    (folder / "conftest.py").write_text(short, encoding="utf-8")
    (folder / "chances.py").write_text(
        (ROOT / "tests/helpers/chances.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    (folder / "test_it.py").write_text(source, encoding="utf-8")
    # In a folder of its own: no test here is one of the project's.
    return command("--rootdir", folder, "-c", "/dev/null", *arguments, folder / "test_it.py", **settings)


def test_whatever_a_test_waits_for_it_fails_at_the_limit_and_what_it_does_to_signals_ends_with_it(tmp_path):
    said = run(*limited(tmp_path, STUCK, limit=0.3)).stdout
    assert re.search(r"^3 failed, 3 passed, 2 errors in", said, re.MULTILINE), said
    assert said.count("Failed: more than 0.3 s (LIMIT in tests/conftest.py") >= 5


def said_until(words, arguments, path, seconds=120.0):
    """What a command says until it has said these words or has ended: its own end is not waited for."""
    over = time.monotonic() + seconds
    with (
        path.open("w") as out,
        subprocess.Popen(arguments, stdout=out, stderr=out, cwd=path.parent, start_new_session=True) as process,
    ):
        while words not in path.read_text() and process.poll() is None and time.monotonic() < over:
            time.sleep(0.1)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return path.read_text()


@pytest.mark.slow
def test_a_test_in_c_code_is_ended_and_the_next_one_runs(tmp_path):
    """pytest-xdist has been seen to hang at its very end after it had lost a process: both results were said."""
    ended = ("-o", "faulthandler_timeout=1.5", "-o", "faulthandler_exit_on_timeout=true")
    arguments = limited(tmp_path, IN_C, "-vv", "-n", "1", *ended, start=("-u", "-m", "pytest"), limit=0.3)
    said = said_until("PASSED test_it.py::test_comes_after_it", arguments, tmp_path / "said")
    assert re.search(r"FAILED test_it.py::test_stays_in_c_code(?s:.*)PASSED test_it.py::test_comes_after_it", said), (
        said
    )


def test_the_later_limit_is_set_and_later_than_the_first():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    first = float(re.search(r"^LIMIT = (\S+)$", CONFTEST.read_text(encoding="utf-8"), re.MULTILINE)[1])
    assert settings["faulthandler_exit_on_timeout"] and 3 * first < settings["faulthandler_timeout"]


def test_signals_reach_a_test_and_what_it_starts():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.getsignal(signal.SIGCHLD) is signal.SIG_DFL
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()
    look = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert subprocess.run([sys.executable, "-c", look], capture_output=True, timeout=60).stdout == b"True\n"


def deaf():
    """Be as deaf as a process can be started."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGALRM])


def test_they_do_however_the_tests_were_started():
    """As by `nohup make test &` in a script, which left the suite waiting for a child that ignored Ctrl-C."""
    arguments = command(f"{__file__}::test_signals_reach_a_test_and_what_it_starts")
    done = run(*arguments, preexec_fn=deaf, cwd=ROOT)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout


DRAWS = """
import random, secrets
import numpy as np
import pytest
from dperm import grid
from dperm.domain import Budget

@pytest.fixture(scope="module")
def shared():
    return secrets.randbits(64)

def drawn(*shared):
    return np.random.default_rng().integers(2**60), secrets.randbelow(2**60), random.random(), np.random.rand(), *shared

def test_first(shared):
    print("drew first", *drawn(shared))

def test_second(shared):
    print("drew second", *drawn(shared))

@pytest.mark.chance(0)
def test_third():
    print("drew third", *drawn())
    grid.add_noise(np.zeros((1, 1)), sensitivity=1.0, budget=Budget(1.0))

def test_fourth():
    grid.add_noise(np.zeros((1, 1)), sensitivity=1.0, budget=Budget(1.0))
"""

# Two sessions in one process: what they load takes most of the time.
TWICE = """
import sys, pytest
pytest.main(sys.argv[1:])
print("and again", flush=True)
pytest.main([*sys.argv[1:], "-k", "not first"])
"""


@pytest.mark.slow
def test_what_has_no_seed_is_the_same_in_any_order_or_declares_a_chance(tmp_path):
    arguments = limited(tmp_path, DRAWS, "-s", "-o", "markers=chance", start=("-c", TWICE))
    said = run(*arguments).stdout.split("and again")
    first, second = (dict(re.findall(r"drew (\w+) (.*)", words)) for words in said)
    assert first["second"] == second["second"] and first["first"].split()[:2] != first["second"].split()[:2]
    assert first["third"].split()[:2] != second["third"].split()[:2]
    assert "1 failed, 3 passed" in said[0] and "draws OpenDP's noise, which no seed fixes" in said[0]


@together.over(
    "declared, words",
    [([2e-6], "oftener than 1e-06: test_0"), ([-1], "oftener"), ([9e-7] * 120, "chance: all tests together")],
)
def test_a_suite_that_fails_by_itself_too_often_is_refused(declared, words):
    def item(k, probability):
        marks = [pytest.mark.chance(probability).mark]
        return SimpleNamespace(nodeid=f"test_{k}", iter_markers=lambda name: marks)

    chances.check([item(k, 9e-7) for k in range(100)])
    with pytest.raises(pytest.UsageError, match=words):
        chances.check([item(k, probability) for k, probability in enumerate(declared)])


@pytest.mark.parametrize("mark", ["faults", "cluster", "versions", "processors"])
def test_a_target_looks_into_every_folder_that_has_tests_of_its_mark(mark):
    """It collects these folders alone: all others together take half a minute to collect."""
    recipes = re.findall(
        rf'PYTEST\) (?:-n \d )?(?:--dist \w+ )?-m "?{mark}\b(.*)', (ROOT / "Makefile").read_text(encoding="utf-8")
    )
    marked = [path for path in (ROOT / "tests").rglob("*.py") if f"mark.{mark}\n" in path.read_text(encoding="utf-8")]
    assert marked and recipes
    for recipe in recipes:
        assert [path for path in marked if not any(path.is_relative_to(ROOT / word) for word in recipe.split())] == []
