"""What a job says at its end: in its log, and in one line on the terminal where the user can mend it."""

import builtins
import contextlib
import errno
import gc
import json
import logging
import os
import re
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

from dperm.errors import ConfigError
from dperm_pipeline import script

LAST = r"^worked (\d+\.\d{3}) s, (\d+\.\d{3}) s of CPU, peak (\d+) MB of 1000 MB$"


@pytest.fixture
def job(tmp_path):
    """What Snakemake would give a script."""
    yield SimpleNamespace(
        log=[str(tmp_path / "logs/cell.log")],
        rule="run_cell",
        wildcards={"experiment": "kifer2012-output", "scenario": "adult_epsilon-0.1"},
        resources={"mem_mb": 1000},
        input=[],
        output=[],
    )
    logging.captureWarnings(False)
    for handler in logging.getLogger().handlers[:]:
        if isinstance(handler, logging.FileHandler) and str(tmp_path) in handler.baseFilename:
            logging.getLogger().removeHandler(handler)
            handler.close()


@pytest.fixture(autouse=True)
def _as_before(monkeypatch):
    """A script sets up logging for a process of its own."""
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    monkeypatch.setattr(logging, "raiseExceptions", logging.raiseExceptions)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setattr(logging.getLogger(), "level", logging.getLogger().level)
    for name in script.THREADS:
        monkeypatch.setenv(name, "2")


def _log(job) -> str:
    """Return what follows the first line, which is for a job that is killed."""
    first, _, rest = Path(job.log[0]).read_text(encoding="utf-8").partition("\n")
    assert "if this is the last line, it was killed" in first
    return rest


def _ends(job, error) -> str:
    """Return the log of a job that an expected error ended."""
    with pytest.raises(SystemExit) as ended, script.logged(job):
        raise error
    assert ended.value.code == 1
    first, start, last = _log(job).splitlines()
    assert re.match(LAST, last) and re.match(r"^started with \d+\.\d{3} s of CPU$", start)
    return first


WORKS = """
import json, logging, sys, time
from types import SimpleNamespace
from dperm_pipeline import script

with script.logged(SimpleNamespace(**json.loads(sys.argv[1]))):
    logging.getLogger().info("half way")
    time.sleep(0.05)
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass
"""


def test_a_job_says_what_it_took(job):
    """In a process of its own, as jobs are: threads of what was tested before may still spin in this one."""
    subprocess.run([sys.executable, "-c", WORKS, json.dumps(vars(job))], check=True)
    first, start, last = _log(job).splitlines()
    wall, cpu, peak = map(float, re.match(LAST, last).groups())
    assert first == "half way"
    assert 0 < float(start.split()[2]) < 60
    # The sleep is no CPU; the loop is both.
    assert 0.1 <= cpu <= wall - 0.04
    assert 10 < peak < 10_000


def test_a_job_without_declared_memory(job):
    job.resources = {}
    with script.logged(job):
        pass
    assert re.search(r"peak \d+ MB$", _log(job))


def test_peak_is_of_this_process_and_not_of_the_one_that_started_it():
    """On Linux `ru_maxrss` of a process begins at what its parent held: a small job would say Snakemake's memory."""
    parent = "held = bytearray(300_000_000); import subprocess as s, sys; s.run([sys.executable, '-c', sys.argv[1]])"
    child = (
        "from dperm_pipeline.script import peak; before = peak(); held = bytearray(100_000_000); print(before, peak())"
    )
    done = subprocess.run([sys.executable, "-c", parent, child], capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert before < 150
    assert 90 <= after - before <= 110


def test_checks_are_no_work(job, monkeypatch):
    """Of the code, before the work and after it, and of the outputs."""

    def burn():
        end = time.process_time() + 0.1
        while time.process_time() < end:
            pass

    @contextlib.contextmanager
    def claimed(*_):
        burn()
        yield
        burn()

    monkeypatch.setattr(script.worker, "check_code", burn)
    monkeypatch.setattr(script.files, "claimed", claimed)
    began = time.process_time()
    with script.logged(job):
        pass
    _, start, last = f"\n{_log(job)}".splitlines()
    wall, cpu, _ = map(float, re.match(LAST, last).groups())
    assert wall < 0.1 and cpu < 0.1
    assert began + 0.4 <= float(start.split()[2]) + 0.002


def test_imports_are_no_work(job, tmp_path, monkeypatch):
    """A module that takes 0.3 s to load, of which another one takes 0.2 s."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "slow_inner.py").write_text("import time\ntime.sleep(0.2)\n")
    (tmp_path / "slow_outer.py").write_text("import time\ntime.sleep(0.1)\nimport slow_inner\n")
    plain, began = builtins.__import__, time.perf_counter()
    with script.logged(job):
        import slow_outer  # noqa: F401
    assert time.perf_counter() - began >= 0.3
    assert float(re.search(LAST, _log(job), re.MULTILINE)[1]) < 0.1
    assert builtins.__import__ is plain


def test_to_be_logged_costs_nothing(job):
    """A thousandth of a second that a job of a second would not notice, however often it says `import`."""
    began = time.process_time()
    with script.logged(job):
        for _ in range(1000):
            import math  # noqa: F401
    assert time.process_time() - began < 0.1


def test_an_expected_error_is_one_line(job, capsys):
    assert _ends(job, ConfigError("no such thing")) == "error: no such thing"
    assert capsys.readouterr().err == "error: no such thing\n"


def test_out_of_memory_names_the_cell_and_the_remedy(job, capsys):
    line = _ends(job, MemoryError("Unable to allocate 8 GiB"))
    assert re.fullmatch(
        r"error: run_cell experiment=kifer2012-output scenario=adult_epsilon-0\.1 is out of memory: .*"
        r"of the 1000 MB asked for; .*--set-resources run_cell:mem_mb=2000",
        line,
    )
    assert capsys.readouterr().err.strip() == line


@pytest.mark.parametrize(
    ("number", "remedy"),
    [(errno.ENOSPC, "free some space"), (errno.EROFS, "make the folder writable"), (errno.EACCES, "writable")],
)
def test_a_disk_that_cannot_be_written(job, number, remedy):
    line = _ends(job, OSError(number, os.strerror(number), "results/rows.parquet"))
    assert "adult_epsilon-0.1" in line and "results/rows.parquet" in line
    assert os.strerror(number) in line and remedy in line and "what is finished is kept" in line


def test_a_log_that_cannot_be_written(job, capsys):
    """As on a disk that is full or read-only."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(logging, "FileHandler", _refuse)
        with script.logged(job):
            pytest.fail("a job that cannot say anything does nothing")
    assert capsys.readouterr().err.startswith("error: run_cell experiment=kifer2012-output")


def _refuse(*_, **__):
    raise OSError(errno.EROFS, os.strerror(errno.EROFS), "logs/cell.log")


def test_a_bug_keeps_its_traceback(job):
    with pytest.raises(ZeroDivisionError), script.logged(job):
        1 / 0  # noqa: B018
    log = _log(job)
    assert log.startswith("unexpected error, please report it\nTraceback") and "1 / 0" in log
    assert re.match(LAST, log.splitlines()[-1])
    # Of the disk too, what nobody can mend by hand: a file that is not there.
    with pytest.raises(FileNotFoundError), script.logged(job):
        raise FileNotFoundError(errno.ENOENT, "no", "x")
    assert "please report" in _log(job)


def test_warnings_are_logged_by_their_text(tmp_path):
    """In a process of its own: pytest catches warnings itself."""
    code = """
        import sys, warnings
        from types import SimpleNamespace
        from dperm_pipeline import script
        files = {"log": [sys.argv[1]], "input": [], "output": []}
        with script.logged(SimpleNamespace(**files, rule="r", wildcards={}, resources={"mem_mb": 9})):
            warnings.warn("beware")
    """
    log = tmp_path / "a.log"
    subprocess.run([sys.executable, "-c", textwrap.dedent(code), str(log)], check=True)
    _, first, *_, last = log.read_text().splitlines()
    assert first == "UserWarning: beware" and last.endswith("MB of 9 MB")


def test_a_job_takes_one_thread(job):
    """Before it imports anything, whatever the environment asks for."""
    with script.logged(job):
        assert {os.environ[name] for name in script.THREADS} == {"1"}


def test_garbage_is_looked_for_except_while_modules_load(job, tmp_path, monkeypatch):
    (tmp_path / "looks.py").write_text("import gc\nSEARCHED = gc.isenabled()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with script.logged(job):
        import looks

        assert not looks.SEARCHED and gc.isenabled()
        with pytest.raises(ImportError):
            import no_such_library  # noqa: F401
        assert gc.isenabled()
    monkeypatch.delitem(sys.modules, "looks")
