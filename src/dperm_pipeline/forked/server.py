"""The process that has loaded the libraries, and forks one for each script; a program of its own.

It loads nothing of dperm, so that each job meets the code as it is when the job starts. The forked job sends `+` to its
client and begins with the script when the client has answered. When it has ended, two bytes are sent: the exit status,
and the number of the signal or 0. (They may come twice, from the job and from the server; and without the `+` if the
job ended before it had begun.) A Ctrl-C is never lost: the client heeds it until it answers, and the job from then on.
"""

import contextlib
import fcntl
import gc
import importlib
import json
import logging
import os
import runpy
import select
import shutil
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# What more than a few jobs load. One that is missing is passed over here: the job that needs it names it.
LIBRARIES = (
    "numpy",
    "pandas",
    "pyarrow.parquet",
    "pyarrow.dataset",
    "scipy.special",
    "scipy.optimize",
    "scipy.stats",
    "numba",
    "matplotlib.figure",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "sklearn.linear_model",
    "dp_accounting",
)


def serve(listener: socket.socket, preamble: str) -> None:
    """Fork a process for each script that comes in, until the standard input ends; then wait for them.

    Each connection to the Unix socket is of one `dperm_pipeline.forked.client`; `preamble` is loaded beside the
    libraries.
    """
    # A Ctrl-C, or the end of the terminal, is for Snakemake and the jobs; the server ends after them.
    theirs = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGHUP)}
    _load(preamble)
    # With threads running a fork could wait forever for a lock that one of them holds: jobs then start alone.
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        listener.close()
        sys.stdin.read()
        return
    woken = _woken_by_ends()
    clients: dict[int, socket.socket] = {}
    while True:
        ready, *_ = select.select([listener, woken, sys.stdin], [], [])
        if woken in ready:
            woken.recv(4096)
            _reap(clients, os.WNOHANG)
        if sys.stdin in ready:
            break
        if listener in ready:
            connection, _ = listener.accept()
            # Where the system has no room for another process, the client tries by itself.
            with contextlib.suppress(OSError):
                pid = os.fork()
                if not pid:
                    _be_the_job(connection, theirs, (listener, woken, *clients.values()))
                clients[pid] = connection
                continue
            connection.close()
    listener.close()
    while clients:
        _reap(clients, 0)


def _load(preamble: str) -> None:
    gc.disable()
    path = sys.path.copy()
    for library in (preamble, *LIBRARIES):
        with contextlib.suppress(Exception):
            importlib.import_module(library)
    # Before the first function that it compiles or finds in its cache, Numba takes a fifth of a second: once for all.
    with contextlib.suppress(Exception):
        importlib.import_module("numba").njit(lambda: 0)()
    # Some libraries add to the search path.
    sys.path[:] = path
    # What is loaded is no garbage, and a fork that searched it would copy its pages.
    gc.freeze()
    gc.enable()


def _woken_by_ends() -> socket.socket:
    """Return what can be read from whenever a child has ended."""
    woken, wakes = socket.socketpair()
    wakes.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes.detach(), warn_on_full_buffer=False)
    return woken


def _reap(clients: dict[int, socket.socket], options: int) -> None:
    """Tell the clients of jobs that have ended how they did, and count their CPU time as Snakemake's children's."""
    while clients:
        pid, status = os.waitpid(-1, options)
        if not pid:
            return
        with clients.pop(pid) as client, contextlib.suppress(OSError):
            # Zero bits where it is the other of the two.
            client.send(bytes([os.WEXITSTATUS(status), os.WTERMSIG(status)]))


def _be_the_job(connection: socket.socket, handlers: dict[int, Any], others: Sequence[socket.socket]) -> None:
    """Run the script that the client names, tell it how that ended, and end."""
    ended = (1, 0)
    try:
        signal.set_wakeup_fd(-1)
        # Kept back, not lost, until the client has answered.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        for other in others:
            other.close()
        for number, handler in {signal.SIGCHLD: signal.SIG_DFL, signal.SIGIO: signal.SIG_DFL, **handlers}.items():
            signal.signal(number, handler)
        script, folder, environment = _received(connection)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = [script]
        if not sys.flags.safe_path:
            sys.path[0] = str(Path(script).absolute().parent)
        connection.send(b"+")
        if not connection.recv(1):
            return
        # A client says no more: whatever can be read is its end. SIGIO ends this process then.
        fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
        flags = fcntl.fcntl(connection, fcntl.F_GETFL)
        fcntl.fcntl(connection, fcntl.F_SETFL, flags | os.O_ASYNC)
        if select.select([connection], [], [], 0)[0]:
            return
        ended = _run(script)
        # Waits for threads that a job has left, as Python does; those of `concurrent.futures` are told that it is over.
        threading._shutdown()
        logging.shutdown()
        if not _flushed():
            ended = (120, 0)
        # The server says the same, but it may have been killed.
        fcntl.fcntl(connection, fcntl.F_SETFL, flags)
        connection.send(bytes(ended))
    except BaseException:  # the client went in the middle of its request, or a stream is closed
        traceback.print_exc()
    finally:
        # Python takes a fifth of a second to tear down what the server has loaded.
        os._exit(128 + ended[1] if ended[1] else ended[0])


def _received(connection: socket.socket) -> tuple[str, str, dict[str, str]]:
    header, streams, *_ = socket.recv_fds(connection, 8, 3)
    with connection.makefile("rb", buffering=0) as source:
        parts, left = [], int.from_bytes(header, "big")
        while left:
            parts.append(source.read(left))
            if not parts[-1]:
                raise EOFError("the client ended before its request did")
            left -= len(parts[-1])
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    return json.loads(b"".join(parts))


def _run(script: str) -> tuple[int, int]:
    """Run a script, and return how Python would end then: its status, and the number of a signal or 0."""
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        runpy.run_path(str(Path(script).absolute()), run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF, 0
        print(end.code, file=sys.stderr)
        return 1, 0
    except BaseException as error:
        sys.excepthook(*sys.exc_info())
        return (0, signal.SIGINT) if isinstance(error, KeyboardInterrupt) else (1, 0)
    return 0, 0


def _flushed() -> bool:
    """Return whether all that was printed could be written; Python exits with status 120 if not."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream and not stream.closed:
                stream.flush()
    except OSError:
        return False
    return True


def main(listener: str, folder: str, preamble: str) -> None:
    """Serve at an open socket; when Snakemake has ended, perhaps killed, remove the folder."""
    serve(socket.socket(fileno=int(listener)), preamble)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
