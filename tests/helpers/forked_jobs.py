"""A server that forks jobs, a project's folder, and jobs in it, for the tests of `dperm_pipeline.forked`."""

import contextlib
import subprocess
import sys
import time
from pathlib import Path

import pytest

# A Snakemake in small: it starts a server, says the Python for scripts, and ends when it is told to.
PARENT = """
import sys
from dperm_pipeline import forked
print(forked.start(10, sys.argv[1]), flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def started(preamble="snakemake.script"):
    """That process, with its `python` and its `server`."""
    words = [sys.executable, "-c", PARENT, preamble]
    settings = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, start_new_session=True, **settings) as process:
        process.python = process.stdout.readline().strip()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        (process.server,) = map(int, children)
        yield process
        process.stdin.close()
        process.wait(timeout=60)
    assert gone(process.server) and not Path(process.python).parent.exists()


@pytest.fixture(scope="module")
def parent():
    with started() as process:
        yield process


@pytest.fixture
def folder(tmp_path):
    """A project's folder."""
    found = tmp_path / "a folder of mine, née elsewhere"
    (found / ".snakemake/scripts").mkdir(parents=True)
    return found


def command(parent, folder, code, name="tmp1.job.py"):
    """The words by which Snakemake starts a script, without its shell, which these words replace."""
    (folder / ".snakemake/scripts" / name).write_text(code, encoding="utf-8")
    return [parent.python, f".snakemake/scripts/{name}"]


def run(parent, folder, code, **settings):
    given = {"text": True, "capture_output": True, "check": False, "cwd": folder, **settings}
    return subprocess.run(command(parent, folder, code), **given)


def appeared(path, *, within=30.0):
    until = time.monotonic() + within
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < until, f"{path} did not appear"
        time.sleep(0.01)
    return path.read_text()


def gone(pid, *, within=30.0):
    """Wait until a process has ended."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


FOR_EVER = """
import os, time
from pathlib import Path
Path("pid").write_text(str(os.getpid()))
while True:
    {what}
"""

# Whether the libraries are there before a job asks.
LOOK = "import sys; print('numba' in sys.modules)"
