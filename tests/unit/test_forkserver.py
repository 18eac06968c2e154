"""The server that forks the jobs of a run: each is as it would be alone, and none outlives its client."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dperm import forkclient

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="jobs are forked on Linux only")

# A Snakemake in small: it starts a server, says the shell, runs what it is told, and says what its children took.
PARENT = """
import resource, subprocess, sys
from dperm import forkserver
print(forkserver.start(), flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def parent():
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        process.shell = process.stdout.readline().strip()
        yield process
        process.stdin.close()
        process.wait()
    assert not Path(process.shell).parent.exists()


@pytest.fixture
def folder(tmp_path):
    """A project's folder."""
    found = tmp_path / "a folder of mine, née elsewhere"
    (found / ".snakemake/scripts").mkdir(parents=True)
    return found


def command(folder, code, name="tmp1.job.py"):
    (folder / ".snakemake/scripts" / name).write_text(code, encoding="utf-8")
    return f"{sys.executable} .snakemake/scripts/{name}"


def shell(parent, folder, words, **settings):
    """Call a command as Snakemake does."""
    given = {"text": True, "capture_output": True, "check": False, "cwd": folder, **settings}
    return subprocess.run(words, shell=True, executable=parent.shell, **given)


def run(parent, folder, code, **settings):
    return shell(parent, folder, command(folder, code), **settings)


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
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137, ""),
    ],
)
def test_the_status_of_a_job(parent, folder, code, status, said):
    done = run(parent, folder, code)
    assert done.returncode == status and done.stderr.endswith(said) and bool(done.stderr) == bool(said)


def test_a_job_has_one_thread_and_no_time_spent(parent, folder):
    code = """
import os, sys, time
assert "numba" in sys.modules and "pandas" in sys.modules
print(len(os.listdir("/proc/self/task")), time.process_time() < 0.2)
"""
    assert run(parent, folder, code).stdout == "1 True\n"


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
        subprocess.Popen(
            command(folder, code.format(mine=mine, other=other), f"{mine}.py"),
            shell=True,
            executable=parent.shell,
            cwd=folder,
        )
        for mine, other in (names, names[::-1])
    ]
    assert [process.wait(timeout=30) for process in both] == [0, 0]


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
        except FileNotFoundError:
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


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("what", ["time.sleep(1)", "pass", "sum(range(10**8))"])
def test_a_job_ends_with_its_client(parent, folder, sent, what):
    words = command(folder, FOR_EVER.format(what=what))
    with subprocess.Popen(words, shell=True, executable=parent.shell, cwd=folder) as client:
        pid = int(appeared(folder / "pid"))
        client.send_signal(sent)
        assert client.wait() == -sent
    assert gone(pid)


def test_a_job_that_is_interrupted_says_so(parent, folder):
    words = command(folder, FOR_EVER.format(what="time.sleep(1)"))
    settings = {"cwd": folder, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, shell=True, executable=parent.shell, **settings) as client:
        os.kill(int(appeared(folder / "pid")), signal.SIGINT)
        assert "KeyboardInterrupt" in client.stderr.read()
        assert client.wait() == 1


def test_other_commands_have_their_shell(parent, folder):
    done = shell(parent, folder, "echo $BASH_VERSION && false | true; echo not reached")
    assert done.returncode == 1 and done.stdout.startswith("5") and "not reached" not in done.stdout
    # Another Python than this is no business of the server's.
    (folder / ".snakemake/scripts/other.py").write_text("import sys; print('numba' in sys.modules)")
    assert shell(parent, folder, f"env {sys.executable} .snakemake/scripts/other.py").stdout == "False\n"


@pytest.mark.parametrize(
    ("words", "script"),
    [
        ("{python} .snakemake/scripts/tmpx_1.run_cell.py", ".snakemake/scripts/tmpx_1.run_cell.py"),
        ("  {python} .snakemake/scripts/a.py ", ".snakemake/scripts/a.py"),
        ("{python} .snakemake/scripts/a.py; rm -r x", None),
        ("{python} '/of mine/.snakemake/scripts/a.py'", "/of mine/.snakemake/scripts/a.py"),
        ("""{python} 'it'"'"'s/a.py'""", "it's/a.py"),
        ("{python} .snakemake/scripts/a.py;.py", None),
        ("{python} $HOME/a.py", None),
        ("{python} a.py b.py", None),
        ("{python} 'a.py", None),
        ("{python} -c pass", None),
        ("python .snakemake/scripts/a.py", None),
        ("true", None),
    ],
)
def test_what_is_handed_to_the_server(words, script):
    assert forkclient.script_of(words.format(python=sys.executable)) == script


def test_without_a_server_a_script_is_run_alone(folder):
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        parent.shell = parent.stdout.readline().strip()
        look = "import sys; print('numba' in sys.modules)"
        assert run(parent, folder, look).stdout == "True\n"
        (server,) = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
        os.kill(int(server), signal.SIGKILL)
        assert gone(server)
        assert run(parent, folder, look).stdout == "False\n"


def test_a_server_ends_when_its_snakemake_is_killed(folder):
    """And leaves nothing behind, while the job that runs goes on."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        parent.shell = parent.stdout.readline().strip()
        (server,) = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
        code = FOR_EVER.format(what="time.sleep(0.01)\n    if Path('end').exists(): break")
        words = command(folder, code)
        with subprocess.Popen(words, shell=True, executable=parent.shell, cwd=folder) as client:
            appeared(folder / "pid")
            parent.kill()
            time.sleep(0.5)
            assert client.poll() is None
            (folder / "end").touch()
            assert client.wait(timeout=30) == 0
    assert gone(server) and not Path(parent.shell).parent.exists()


def test_the_time_of_jobs_is_time_of_the_run(folder):
    """As of Snakemake's own children: whoever measures a run counts them."""
    words = command(folder, "import time\nwhile time.process_time() < 2: pass")
    code = f"""
import resource, subprocess
from dperm import forkserver
import atexit
atexit.register(lambda: print(sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])))
shell = forkserver.start()
subprocess.run({words!r}, shell=True, executable=shell, check=True)
"""
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True, cwd=folder)
    assert float(done.stdout) > 2
