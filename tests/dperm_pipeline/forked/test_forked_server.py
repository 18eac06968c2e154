"""The server that forks jobs: when there is one, what happens without it, and how it ends."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import forked_jobs
import pytest
from forked_jobs import FOR_EVER, LOOK, appeared, command, gone, run, started

from dperm.errors import ConfigError
from dperm_pipeline import forked
from dperm_pipeline.forked import client

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="jobs are forked on Linux only")

folder, parent = forked_jobs.folder, forked_jobs.parent


@pytest.mark.parametrize(
    ("asked", "jobs", "starts"), [("", 9, False), ("", 10, True), ("0", 1000, False), ("1", 1, True)]
)
def test_when_jobs_are_forked(monkeypatch, asked, jobs, starts):
    monkeypatch.setattr(forked, "start_server", lambda folder, preamble: Path(folder).rmdir())
    monkeypatch.setattr(forked.atexit, "register", lambda *_: None)
    monkeypatch.setenv("DPERM_FORK", asked)
    assert (forked.start(jobs, "json") is not None) == starts
    # What has loaded the system's libraries may not fork.
    monkeypatch.setattr(sys, "platform", "darwin")
    assert forked.start(jobs, "json") is None


@pytest.fixture(params=["no folder", "a long name", "a name to quote", "no programs", "no room"])
def unfit(request, tmp_path):
    """A temporary folder that is of no use."""
    if request.param == "no folder":
        yield tmp_path / "gone"
        return
    folder = tmp_path / {"a long name": "long" * 30, "a name to quote": "it's"}.get(request.param, "small")
    folder.mkdir()
    if request.param.startswith("a "):
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
        words = command(parent, folder, LOOK)
        with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True) as client:
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
        with subprocess.Popen(command(parent, folder, code), cwd=folder) as client:
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


@pytest.mark.slow
def test_half_a_request_begins_nothing(parent):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(Path(parent.python).with_name("socket")))
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
from dperm_pipeline import forked
atexit.register(lambda: print(sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])))
subprocess.run([forked.start(10, "snakemake.script"), sys.argv[1]], check=True)
"""
    took = []
    for work in ("pass", "import time\nwhile time.process_time() < 5: pass"):
        script = folder / "job.py"
        script.write_text(work)
        words = [sys.executable, "-c", code, script.name]
        took.append(float(subprocess.run(words, text=True, capture_output=True, check=True, cwd=folder).stdout))
    # The rest is the server's own, some 3 s.
    assert 3 < took[1] - took[0] < 7
