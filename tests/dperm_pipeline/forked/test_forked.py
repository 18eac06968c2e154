"""Jobs that a server forks: each is as it would be alone, and none outlives its client."""

import json
import os
import signal
import subprocess
import sys

import forked_jobs
import pytest
from forked_jobs import FOR_EVER, appeared, command, gone, run, started

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="jobs are forked on Linux only")

folder, parent = forked_jobs.folder, forked_jobs.parent


def test_a_job_is_as_it_would_be_alone(parent, folder):
    code = """
import json, os, sys
own = sorted(name for name in sys.modules if name.startswith("dperm."))
paths = [os.path.abspath(path) for path in (*sys.argv, *sys.path)]
print(json.dumps([dict(os.environ), os.getcwd(), paths, __name__, __file__, own, sys.stdin.read()]))
print("and this", file=sys.stderr)
"""
    given = {"input": "read me", "env": {**os.environ, "MINE": "a\udcff b"}}
    done = run(parent, folder, code, **given)
    alone = subprocess.run(
        [sys.executable, ".snakemake/scripts/tmp1.job.py"],
        text=True,
        capture_output=True,
        check=True,
        cwd=folder,
        **given,
    )
    assert (done.returncode, done.stderr) == (0, "and this\n")
    found, wanted = json.loads(done.stdout), json.loads(alone.stdout)
    for environment in (found[0], wanted[0]):
        for name in ("_", "PWD", "OLDPWD", "SHLVL"):  # a shell's own
            environment.pop(name, None)
    assert found == wanted


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("pass", 0, ""),
        ("import sys; sys.exit()", 0, ""),
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit(-1)", 255, ""),
        ("import sys; sys.exit('no such thing')", 1, "no such thing\n"),
        ("1 / 0", 1, "ZeroDivisionError: division by zero\n"),
        ("import os; os._exit(7)", 7, ""),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -9, ""),
        ("import os; os.abort()", -6, ""),
        ("raise KeyboardInterrupt", -2, "KeyboardInterrupt\n"),
        ("import sys; sys.stdout = open('/dev/full', 'w'); print(1)", 120, ""),
        ("import sys; sys.stdout.close()", 0, ""),
        ("import sys; sys.stdout.close(); raise KeyboardInterrupt", -2, "KeyboardInterrupt\n"),
        ("import concurrent.futures as one; one.kept = one.ThreadPoolExecutor(); one.kept.submit(print)", 0, ""),
        ("import sys, threading; threading.Timer(0.3, print, ['told'], {'file': sys.stderr}).start()", 0, "told\n"),
    ],
)
def test_the_status_of_a_job(parent, folder, code, status, said):
    done = run(parent, folder, code)
    assert done.returncode == status and done.stderr.endswith(said) and bool(done.stderr) == bool(said)


def test_a_job_finds_the_libraries_and_no_time_spent(parent, folder):
    code = """
import sys, time
assert "numba" in sys.modules and "pandas" in sys.modules and "client" not in sys.modules
print(time.process_time() < 0.2)
"""
    assert run(parent, folder, code).stdout == "True\n"


def test_what_one_job_changes_no_other_sees(parent, folder):
    change = "import os, sys, numpy; os.environ['LEFT'] = '1'; sys.path.append('left'); numpy.left = 1"
    look = "import os, sys, numpy; print('LEFT' in os.environ, 'left' in sys.path, hasattr(numpy, 'left'))"
    assert run(parent, folder, change).returncode == 0
    assert run(parent, folder, look).stdout == "False False False\n"


def test_jobs_run_side_by_side(parent, folder):
    """Two that wait for each other."""
    code = """
import sys, time
from pathlib import Path
Path({mine!r}).touch()
while not Path({other!r}).exists():
    time.sleep(0.01)
"""
    names = ("one", "two")
    both = [
        subprocess.Popen(command(parent, folder, code.format(mine=mine, other=other), f"{mine}.py"), cwd=folder)
        for mine, other in (names, names[::-1])
    ]
    assert [process.wait(timeout=30) for process in both] == [0, 0]


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("what", ["time.sleep(1)", "pass", "sum(range(10**8))"])
def test_a_job_ends_with_its_client(parent, folder, sent, what):
    words = command(parent, folder, FOR_EVER.format(what=what))
    with subprocess.Popen(words, cwd=folder) as client:
        pid = int(appeared(folder / "pid"))
        client.send_signal(sent)
        assert client.wait(timeout=60) == -sent
    assert gone(pid)


# A Snakemake in small that a terminal stops: it waits for the job that it has called.
INTERRUPTED = """
import signal, subprocess, sys
from dperm_pipeline import forked
script, fork = sys.argv[1:]
python = forked.start(10, "json") if int(fork) else sys.executable
signal.signal(signal.SIGINT, lambda *_: None)
print(subprocess.Popen(f"set -euo pipefail; {python} {script}", shell=True, executable="/bin/bash").wait())
"""


@pytest.mark.parametrize("fork", [1, 0])
def test_ctrl_c_ends_a_job_as_it_would_alone(folder, fork):
    """The terminal sends it to all of a group: the job tidies up, and nobody else says anything."""
    # What is sent as soon as the file is there must find it inside.
    code = """
import os, time
from pathlib import Path
try:
    Path("pid").write_text(str(os.getpid()))
    time.sleep(60)
finally:
    time.sleep(0.3)
    Path("tidied").touch()
"""
    script = folder / "job.py"
    script.write_text(code)
    words = [sys.executable, "-c", INTERRUPTED, script.name, str(fork)]
    settings = {"cwd": folder, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, start_new_session=True, **settings) as process:
        appeared(folder / "pid")
        os.killpg(process.pid, signal.SIGINT)
        status, said = process.communicate(timeout=60)
    assert int(status) == -signal.SIGINT and (folder / "tidied").exists()
    assert said.count("Traceback") == 1 and said.endswith("KeyboardInterrupt\n") and "client.py" not in said


@pytest.mark.slow
def test_ctrl_c_does_nothing_where_it_was_to_do_nothing(folder):
    """As of a run in the background of a script."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with started("json") as parent:
            look = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
            assert run(parent, folder, look).stdout == "True\n"
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    "words",
    [
        ["-c", "import sys; print(sys.argv)"],
        *(pytest.param(words, marks=pytest.mark.slow) for words in (["-m", "json", "a.py"], ["a.py", "b.py"], [])),
    ],
)
def test_with_other_words_than_a_script_it_is_python(parent, folder, words):
    (folder / "a.py").write_text("import sys; print('numba' in sys.modules, sys.argv)")
    given = {"input": "print(1 + 1)", "text": True, "capture_output": True, "check": False, "cwd": folder}
    found, wanted = (subprocess.run([python, *words], **given) for python in (parent.python, sys.executable))
    assert (found.returncode, found.stdout, found.stderr) == (wanted.returncode, wanted.stdout, wanted.stderr)
