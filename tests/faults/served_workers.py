"""Forks workers of `dperm serve` for a test to kill: python served_workers.py MODEL LEDGER.

A fork has all libraries already, so it begins in a tenth of the time. It says the port; then it forks a worker for each
line that comes, and says its process. Each worker's wall clock is up to two hours off, and jumps while it runs.
"""

import os
import random
import signal
import socket
import sys
import time
import warnings

import uvicorn  # noqa: F401

from dperm.serve import app, files, processes, service  # noqa: F401


def stepping(real, steps):
    """A clock that is set anew about every hundredth time that it is read."""
    off = steps.uniform(-7200, 7200)

    def now():
        nonlocal off
        if steps.random() < 0.01:
            off = steps.uniform(-7200, 7200)
        return real() + off

    return now


def main(model, ledger):
    warnings.simplefilter("ignore")
    listening = socket.create_server(("127.0.0.1", 0), backlog=256)
    (life, alive), (told, tell) = os.pipe(), os.pipe()
    given = {
        "model": model, "ledger": ledger, "workers": 2, "listening": listening.fileno(), "life": life, "tell": tell,
        "shared": os.memfd_create("dperm"),
    }  # fmt: skip
    # What is compiled at the first use is compiled here.
    files.load(model).fitted(None).predict([[0.0, 0.0]])
    # Children that were killed leave nothing behind.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print(listening.getsockname()[1], flush=True)
    for k, _ in enumerate(sys.stdin):
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(alive)
            time.time = stepping(time.time, random.Random(k))
            os._exit(processes.work(**given, worker=k % 2, anew=k > 1))
        print(child, flush=True)
        os.read(told, 64) if k == 0 else None


if __name__ == "__main__":
    main(*sys.argv[1:])
