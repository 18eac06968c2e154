"""The server that forks the jobs of a run: each is as it would be alone, and none outlives its client."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from dperm import forked
from dperm.errors import ConfigError
from dperm.forked import client

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="jobs are forked on Linux only")

# A Snakemake in small: it starts a server, says the shell, and ends when it is told to.
PARENT = """
import sys
from dperm import forked
print(forked.start(10, sys.argv[1]), flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def started(preamble="snakemake.script"):
    """That process, with its `shell` and its `server`."""
    words = [sys.executable, "-c", PARENT, preamble]
    settings = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, start_new_session=True, **settings) as process:
        process.shell = process.stdout.readline().strip()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        (process.server,) = map(int, children)
        yield process
        process.stdin.close()
        process.wait()
    assert gone(process.server) and not Path(process.shell).parent.exists()


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
        ("import os; os._exit(7)", 7, ""),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -9, ""),
        ("import os; os.abort()", -6, ""),
        ("raise KeyboardInterrupt", -2, "KeyboardInterrupt\n"),
        ("import atexit; atexit.register(print, 'told', file=__import__('sys').stderr)", 0, "told\n"),
        ("import sys; sys.stdout = open('/dev/full', 'w'); print(1)", 120, ""),
        ("import sys; sys.stdout.close()", 0, ""),
        ("import sys; sys.stdout.close(); raise KeyboardInterrupt", -2, "KeyboardInterrupt\n"),
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


# A Snakemake in small that a terminal stops: it waits for the job that it has called.
INTERRUPTED = """
import signal, subprocess, sys
from dperm import forked
words, fork = sys.argv[1:]
given = {"executable": forked.start(10, "json")} if int(fork) else {}
signal.signal(signal.SIGINT, lambda *_: None)
print(subprocess.Popen(words if given else f"exec {words}", shell=True, **given).wait())
"""


@pytest.mark.parametrize("fork", [1, 0])
def test_ctrl_c_ends_a_job_as_it_would_alone(folder, fork):
    """The terminal sends it to all of a group: the job tidies up, and nobody else says anything."""
    code = FOR_EVER.format(
        what="""try: time.sleep(60)
    finally:
        time.sleep(0.3)
        Path("tidied").touch()"""
    )
    words = [sys.executable, "-c", INTERRUPTED, command(folder, code), str(fork)]
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


def test_other_commands_have_their_shell(parent, folder):
    done = shell(parent, folder, "echo bash $BASH_VERSION && false | true; echo not reached")
    assert done.returncode == 1 and re.fullmatch(r"bash \d.*\n", done.stdout)
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
    assert client.script_of(words.format(python=sys.executable)) == script


@pytest.mark.parametrize(
    ("asked", "jobs", "starts"), [("", 9, False), ("", 10, True), ("0", 1000, False), ("1", 1, True)]
)
def test_when_jobs_are_forked(monkeypatch, asked, jobs, starts):
    monkeypatch.setattr(forked, "_started", lambda folder, preamble: Path(folder).rmdir())
    monkeypatch.setattr(forked.atexit, "register", lambda *_: None)
    monkeypatch.setenv("DPERM_FORK", asked)
    assert (forked.start(jobs, "json") is not None) == starts
    # What has loaded the system's libraries may not fork.
    monkeypatch.setattr(sys, "platform", "darwin")
    assert forked.start(jobs, "json") is None


@pytest.fixture(params=["no folder", "a long name", "no programs", "no room"])
def unfit(request, tmp_path):
    """A temporary folder that is of no use."""
    if request.param == "no folder":
        yield tmp_path / "gone"
        return
    folder = tmp_path / ("long" * 30 if request.param == "a long name" else "small")
    folder.mkdir()
    if request.param == "a long name":
        yield folder
        return
    size, options = ("64k", "noexec") if request.param == "no programs" else ("4k", "nr_inodes=2")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size},{options}", "tmpfs", str(folder)]
    tried = subprocess.run(mount, capture_output=True, text=True, check=False)
    if tried.returncode:
        reason = f"a disk can be mounted by root alone: {tried.stderr.strip()}"
        assert not os.environ.get("DPERM_NEED_MOUNTS"), reason
        pytest.skip(reason)
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_without_a_folder_for_programs_jobs_start_alone(monkeypatch, unfit):
    monkeypatch.setattr(tempfile, "tempdir", str(unfit))
    assert forked.start(1000, "json") is None
    assert not unfit.exists() or list(unfit.iterdir()) == []


def test_a_wish_that_is_not_understood(monkeypatch):
    monkeypatch.setenv("DPERM_FORK", "no")
    with pytest.raises(ConfigError, match=r"DPERM_FORK is 'no': set it to 0 \(never"):
        forked.start(1, "json")


LOOK = "import sys; print('numba' in sys.modules)"


def test_without_a_server_a_script_is_run_alone(folder):
    with started() as parent:
        assert run(parent, folder, LOOK).stdout == "True\n"
        os.kill(parent.server, signal.SIGKILL)
        assert gone(parent.server)
        assert run(parent, folder, LOOK).stdout == "False\n"


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_who_waits_for_a_server_that_is_killed_starts_alone(folder, sent):
    """It is killed before it has loaded anything."""
    with started() as parent:
        os.kill(parent.server, signal.SIGSTOP)
        words = command(folder, LOOK)
        settings = {"shell": True, "executable": parent.shell, "cwd": folder, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen(words, **settings) as client:
            time.sleep(0.5)
            assert client.poll() is None
            os.kill(parent.server, sent)
            os.kill(parent.server, signal.SIGCONT)
            assert client.communicate(timeout=30)[0] == "False\n" and client.returncode == 0


@pytest.mark.slow
def test_a_library_that_cannot_be_loaded_is_for_the_jobs_to_name(folder, tmp_path, monkeypatch):
    (tmp_path / "broken_library.py").write_text("raise ValueError('of another release')")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    with started("broken_library") as parent:
        assert run(parent, folder, LOOK).stdout == "True\n"


def test_a_process_that_forks_has_one_thread(parent, folder):
    """A second one could hold a lock that the fork then waits for."""
    assert run(parent, folder, "pass").returncode == 0  # all is loaded
    assert len(list(Path(f"/proc/{parent.server}/task").iterdir())) == 1


def test_a_server_holds_nothing_of_jobs_that_have_ended(parent, folder):
    for _ in range(5):
        assert run(parent, folder, "pass").returncode == 0
    # It hears of an end after the client did: its input, output, errors, listener and two ends of what wakes it.
    until = time.monotonic() + 30
    while len(list(Path(f"/proc/{parent.server}/fd").iterdir())) > 6:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_server_ends_when_its_snakemake_is_killed(folder):
    """And leaves nothing behind, while the job that runs goes on."""
    with started() as parent:
        code = FOR_EVER.format(what="time.sleep(0.01)\n    if Path('end').exists(): break")
        words = command(folder, code)
        with subprocess.Popen(words, shell=True, executable=parent.shell, cwd=folder) as client:
            appeared(folder / "pid")
            parent.kill()
            time.sleep(0.5)
            assert client.poll() is None
            (folder / "end").touch()
            assert client.wait(timeout=30) == 0


@pytest.mark.slow
def test_a_closed_terminal_leaves_nothing_behind(folder):
    """It tells the group, and the server ends because its Snakemake does."""
    with started("json") as parent:
        assert run(parent, folder, "pass").returncode == 0
        os.killpg(parent.pid, signal.SIGHUP)


def test_a_job_that_ended_before_it_had_begun_is_started_alone(tmp_path, monkeypatch):
    """As when the kernel kills the fork for want of memory: the server tells its end all the same."""
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        listener.listen()
        for said in (b"", b"\x00\x09", b"\x01\x00"):
            thread = threading.Thread(target=_hang_up, args=(listener, said))
            thread.start()
            assert client.handed_over("socket", "a.py") is None
            thread.join()


def _hang_up(listener, said):
    connection, _ = listener.accept()
    with connection:
        header, streams, *_ = socket.recv_fds(connection, 8, 3)
        left = int.from_bytes(header, "big")
        while left:
            left -= len(connection.recv(left))
        for stream in streams:
            os.close(stream)
        connection.send(said)


def test_half_a_request_begins_nothing(parent):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(Path(parent.shell).with_name("socket")))
        socket.send_fds(connection, [(100).to_bytes(8, "big")], [0, 1, 2])
        connection.sendall(b'["a.py"')
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) != b"+"


@pytest.mark.slow
def test_a_path_of_python_is_kept_where_no_folder_may_come_before_it(folder, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("")
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    with started("json") as parent:
        assert run(parent, folder, f"import mine; {LOOK}").stdout == "True\n"


@pytest.mark.slow
def test_a_server_with_two_threads_forks_nothing(folder, tmp_path, monkeypatch):
    (tmp_path / "threaded.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(20,), daemon=True).start()"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    with started("threaded") as parent:
        assert run(parent, folder, LOOK).stdout == "False\n"


@pytest.mark.slow
def test_the_time_of_jobs_is_time_of_the_run(folder):
    """As of Snakemake's own children: whoever measures a run counts them."""
    code = """
import atexit, resource, subprocess, sys
from dperm import forked
atexit.register(lambda: print(sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])))
subprocess.run(sys.argv[1], shell=True, executable=forked.start(10, "snakemake.script"), check=True)
"""
    took = []
    for work in ("pass", "import time\nwhile time.process_time() < 5: pass"):
        words = [sys.executable, "-c", code, command(folder, work)]
        took.append(float(subprocess.run(words, text=True, capture_output=True, check=True, cwd=folder).stdout))
    # The rest is the server's own, some 3 s.
    assert 3 < took[1] - took[0] < 7
