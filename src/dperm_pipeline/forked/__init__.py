"""Start the jobs of a run quickly: a process that has loaded the libraries forks one for each script.

A job takes about a second of CPU to load NumPy, pandas, SciPy and Numba, as much as many jobs work. So a run of many
jobs starts one process that loads them once, the *server*, and gives Snakemake another program in the place of the
Python that runs its scripts, the *client*. The client hands the path of a script to the server, and a fork of the
server runs it: with the folder, the environment and the standard streams of the client, and nothing of dperm loaded.

A job behaves as it would alone. It ends when its client is killed; the client ends as the job does, by the same status
or signal; and neither needs the server once the job has begun. Three things differ: the state of NumPy's global
generator, from which nothing of ours draws; what is imported already; and functions registered with `atexit`, which
are not called. The server ends with Snakemake. Where there is no server, on a cluster's nodes or because it was killed,
the client starts Python as Snakemake would have.

Snakemake's interface for executors cannot do this: by it each job is a Snakemake of its own, which reads the workflow
anew (docs/faults.md has the numbers).
"""

import atexit
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from dperm.errors import ConfigError
from dperm_pipeline.script import THREADS

_HERE = Path(__file__).parent
# With fewer jobs a server does not pay: it takes some 2.5 s to load all libraries, and a job by itself about 1 s.
FEWEST_JOBS = 10
_PYTHON = "python"


def start(jobs: int, preamble: str) -> str | None:
    """Start a server that ends with this process, and return the path of a Python whose scripts it runs.

    The server first loads the module `preamble`, Snakemake's, with which each script begins. None where `jobs` had
    better start alone: few of them, or elsewhere than on Linux, or without a temporary folder for programs (or one
    whose name has to be quoted). DPERM_FORK in the environment overrules the number: 0 never, 1 always, ConfigError
    for anything else.
    """
    asked = os.environ.get("DPERM_FORK", "")
    if asked not in ("", "0", "1"):
        raise ConfigError(f"DPERM_FORK is {asked!r}: set it to 0 (never fork jobs) or 1 (always), or unset it")
    # On macOS a process that has loaded the system's libraries may not fork.
    if not sys.platform.startswith("linux") or asked == "0" or (not asked and jobs < FEWEST_JOBS):
        return None
    try:
        folder = tempfile.mkdtemp(prefix="dperm-")  # nobody else may enter it
    except OSError:
        return None
    try:
        server = start_server(folder, preamble)
    except OSError:  # full, without programs (noexec), or of too long or too odd a name
        shutil.rmtree(folder, ignore_errors=True)
        return None
    atexit.register(_end, server, folder)
    return f"{folder}/{_PYTHON}"


def start_server(folder: str, preamble: str) -> subprocess.Popen:
    """Make the client's program and the socket, and start the server."""
    address, python = f"{folder}/socket", Path(folder, _PYTHON)
    if shlex.quote(folder) != folder:
        raise OSError(f"Snakemake does not quote the path of Python: {folder}")
    # `-E` below keeps the client from reading PYTHONUTF8 in the environment.
    utf8 = ["-X", "utf8"] if sys.flags.utf8_mode else []
    client = [sys.executable, *utf8, "-ISE", str(_HERE / "client.py"), address]
    python.write_bytes(os.fsencode(f'#!/bin/sh\nexec {shlex.join(client)} "$@"\n'))
    python.chmod(0o700)
    if not os.access(python, os.X_OK):
        raise PermissionError(f"{folder} is on a disk without programs")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        # Clients that come before the libraries are loaded wait.
        listener.listen(64)
        # A process with threads must not fork: these keep BLAS and Arrow's memory pool from starting any.
        settings = {**dict.fromkeys(THREADS, "1"), "JE_ARROW_MALLOC_CONF": "background_thread:false"}
        return subprocess.Popen(
            [sys.executable, str(_HERE / "server.py"), str(listener.fileno()), folder, preamble],
            env={**os.environ, **settings},
            pass_fds=[listener.fileno()],
            stdin=subprocess.PIPE,
        )


def _end(server: subprocess.Popen, folder: str) -> None:
    server.stdin.close()
    server.wait()
    shutil.rmtree(folder, ignore_errors=True)
