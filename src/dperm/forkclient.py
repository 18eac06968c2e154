"""What Snakemake calls for a shell while a fork server runs: it hands a script to the server, and waits for it.

Runs before any library is found (`python -ISE`), for it is all that a job starts by itself: standard library alone, and
little of it.
"""

import json
import os
import shlex
import socket
import sys

# Of a shell, for a process that was killed (by SIGKILL, most often for want of memory).
KILLED = 128 + 9
# What Snakemake puts before a command where the shell is bash.
STRICT = "set -euo pipefail; "


def script_of(command: str) -> str | None:
    """Return the path of the script that a command runs with this Python; None where it is another command.

    Parameters
    ----------
    command : str
        As Snakemake composes it: an interpreter, and the path of a script that it has just written.
    """
    python, _, rest = command.strip().partition(f"{sys.executable} ")
    script = rest[1:-1].replace("'\"'\"'", "'") if rest.startswith("'") else rest
    # One word that is quoted as Snakemake quotes it: no part of it is for a shell.
    return script if not python and script.endswith(".py") and shlex.quote(script) == rest else None


def handed_over(address: str, script: str) -> int | None:
    """Have the server run a script in this folder, with this environment and these standard streams.

    Parameters
    ----------
    address, script : path

    Returns
    -------
    int or None
        The exit status; None where no server answers.
    """
    request = json.dumps([script, os.getcwd(), dict(os.environ)]).encode()  # noqa: PTH109 - pathlib is slow to load
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(address)
        except OSError:
            return None
        socket.send_fds(server, [len(request).to_bytes(8, "big")], [0, 1, 2])
        server.sendall(request)
        status = server.recv(1)
    # Whoever was killed says nothing.
    return status[0] if status else KILLED


def main(address: str, command: str) -> None:
    """Run a command as a shell would."""
    if script := script_of(command):
        status = handed_over(address, script)
        if status is not None:
            # As soon as may be: there is nothing to tidy up.
            os._exit(status)
        os.execv(sys.executable, [sys.executable, script])
    os.execvp("bash", ["bash", "-c", STRICT + command])


if __name__ == "__main__":
    main(*sys.argv[1:])
