"""Start the jobs of a run quickly: a process that has loaded the libraries forks one for each script.

A job takes about a second of CPU to load NumPy, pandas, SciPy and Numba, as long as many work. So the Snakemake of a
run of many jobs starts one process that loads them once (`start`), and takes `dperm.forkclient` for its shell. That
hands the path of a script to the server, whose fork runs it: with the folder, the environment and the standard streams
of the client, and no module of dperm loaded yet.

A job is as it would be alone: it ends when the client is killed, the client says that it was killed when it was, and
neither needs the server any more. The server ends with Snakemake. Where there is none, on a cluster's nodes or because
it was killed, the client starts Python as Snakemake would have.
"""

import atexit
import contextlib
import fcntl
import gc
import importlib
import json
import logging
import os
import runpy
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

# What more than a few jobs load; a library that is missing is named by the job that wants it.
LIBRARIES = (
    "snakemake.script",
    "numpy",
    "pandas",
    "pyarrow.parquet",
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


def start() -> str | None:
    """Start a server that ends with this process; its folder is among the temporary ones.

    Returns
    -------
    str or None
        The path of a shell whose scripts the server runs; None where this system has no means for it.
    """
    if not sys.platform.startswith("linux"):  # macOS: what has loaded its system libraries may not fork
        return None
    folder = tempfile.mkdtemp(prefix="dperm-")  # of nobody else
    address, shell = f"{folder}/socket", Path(folder, "shell")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        # One thread, before the BLAS asks; what listens already keeps who comes before the libraries are there.
        server = subprocess.Popen(
            [sys.executable, "-m", "dperm.forkserver", str(listener.fileno()), folder],
            env={**os.environ, **dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")},
            pass_fds=[listener.fileno()],
            stdin=subprocess.PIPE,
        )
    client = [sys.executable, "-ISE", str(Path(__file__).with_name("forkclient.py")), address]
    shell.write_text(f'#!/bin/sh\nexec {shlex.join(client)} "$2"\n', encoding="utf-8")
    shell.chmod(0o700)
    atexit.register(_end, server)
    return str(shell)


def _end(server: subprocess.Popen) -> None:
    server.stdin.close()
    server.wait()


def serve(listener: socket.socket) -> None:
    """Fork a process for each script that comes in, until the standard input ends; then wait for them.

    Parameters
    ----------
    listener : socket
        Of the Unix domain, listening. Each connection is of one `dperm.forkclient`.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: Snakemake and the jobs end, and then this
    _load()
    # Waited for, so that their CPU time is this process's, as Snakemake's own children are.
    signal.signal(signal.SIGCHLD, lambda *_: _reap())
    while True:
        ready, *_ = select.select([listener, sys.stdin], [], [])
        if listener not in ready:
            break
        connection, _ = listener.accept()
        with connection:
            if not os.fork():
                listener.close()
                _be_the_job(connection)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


def _load() -> None:
    gc.disable()
    path = sys.path.copy()
    for library in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(library)
    sys.path[:] = path  # to which some add
    # What is here is no garbage: a fork that looked through it would copy its pages.
    gc.freeze()
    gc.enable()


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _be_the_job(connection: socket.socket) -> None:
    """Run the script that the client names, tell it the exit status, and end."""
    status = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        script, folder, environment = _received(connection)
        # A client says no more: whatever can be read is its end. SIGIO ends this process then.
        fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
        flags = fcntl.fcntl(connection, fcntl.F_GETFL)
        fcntl.fcntl(connection, fcntl.F_SETFL, flags | os.O_ASYNC)
        if select.select([connection], [], [], 0)[0]:
            return
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv, sys.path[0] = [script], str(Path(script).parent)
        status = _status_of(script)
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        fcntl.fcntl(connection, fcntl.F_SETFL, flags)
        connection.send(bytes([status]))
    except BaseException:  # the request was cut short, or a stream is closed: a status other than 0 says it
        traceback.print_exc()
    finally:
        # Python takes a fifth of a second to tear down what the server has loaded.
        os._exit(status)


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


def _status_of(script: str) -> int:
    """Run a script, and return the exit status that Python would give it."""
    try:
        runpy.run_path(str(Path(script).absolute()), run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def main(listener: str, folder: str) -> None:
    """Serve at an open socket, and remove the folder in the end."""
    try:
        serve(socket.socket(fileno=int(listener)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
