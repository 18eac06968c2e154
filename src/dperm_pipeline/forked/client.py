"""What Snakemake calls for Python while a fork server runs: it hands a script to the server, and waits for it.

Runs before any library is found (`python -ISE`), for it is all that a job starts by itself: standard library alone, and
little of it.
"""

import contextlib
import json
import os
import signal
import socket
import sys


def handed_over(address: str, script: str) -> tuple[int, int] | None:
    """Have the server run a script in this folder, with this environment and these standard streams.

    Return the exit status, and the number of the signal that ended it or 0; None where no server has begun with it.
    """
    request = json.dumps([script, os.getcwd(), dict(os.environ)]).encode()  # noqa: PTH109 - pathlib is slow to load
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(address)
            socket.send_fds(server, [len(request).to_bytes(8, "big")], [0, 1, 2])
            server.sendall(request)
            begun = server.recv(1)
        except OSError:  # the server was killed meanwhile
            begun = b""
        if begun != b"+":  # no job has begun, or it was killed before it did
            return None
        # A Ctrl-C in the terminal reaches the job too, which ends in its own way.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with contextlib.suppress(OSError):  # the job was killed just now: how, is read below
            server.sendall(b"!")
        end = server.recv(2)
    # If the server was killed too, nobody is left to say how the job ended.
    return (end[0], end[1]) if end else (0, signal.SIGKILL)


def main(address: str, *words: str) -> None:
    """Run a script as Python would; with any other words than its path, be Python."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # without a traceback of this file
    is_script = len(words) == 1 and words[0].endswith(".py")
    ended = handed_over(address, words[0]) if is_script else None
    if ended is None:
        os.execv(sys.executable, [sys.executable, *words])
    status, number = ended
    if number:
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    # Without Python's own tidying up, which takes time. Where the signal is blocked, with the status of a shell.
    os._exit(128 + number if number else status)


if __name__ == "__main__":
    main(*sys.argv[1:])
