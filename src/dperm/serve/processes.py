"""The processes of one machine: one that watches, and workers that answer. Each worker fits the model for itself.

The watcher opens the socket, starts workers, starts those anew that die, and ends all of them at SIGTERM or SIGINT,
whatever was done with these signals before it began. A worker ends when the watcher does, however that ended: it sees
the end of a pipe. No answer leaves a worker before its charge is on disk, so any of them may be killed at any time.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from threading import Thread

from dperm.errors import DpermError

_ENDS = {signal.SIGTERM, signal.SIGINT}
# Seconds: for requests that are under way; between two starts of a worker that dies.
_GRACE, _PAUSE = 10, 1.0
_FAILED = 2


def serve(model: Path, ledger: str, host: str, port: int, workers: int, ready: Callable[[str], None]) -> int:
    """Serve until a signal comes; return the exit status.

    - port: 0 for any that is free.
    - ready: called with the address once every worker answers.
    - Raises DpermError: if the address cannot be had.
    """
    with _bound(host, port) as listening:
        for each in _ENDS:
            signal.signal(each, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_BLOCK, {*_ENDS, signal.SIGCHLD})
        watcher = _Watcher(model, ledger, listening, workers)
        try:
            return watcher.watch(lambda: ready(_address(listening)))
        finally:
            watcher.end()


def _bound(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=2048
        )
    except (OSError, OverflowError) as error:
        raise DpermError(f"--host {host} --port {port}: cannot listen there: {error}") from None


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


class _Watcher:
    """The workers, and what they inherit."""

    def __init__(self, model: Path, ledger: str, listening: socket.socket, workers: int):
        self._given = {"model": str(model), "ledger": ledger, "workers": workers}
        self._listening = listening.fileno()
        self._shared = os.memfd_create("dperm")
        self._life, self._alive = os.pipe()
        self._told, self._tell = os.pipe()
        os.set_blocking(self._told, False)
        self._workers = [self._start(k) for k in range(workers)]
        self._begun = [time.monotonic()] * workers

    def watch(self, ready: Callable[[], None]) -> int:
        """Start anew what dies, until a signal comes or a worker cannot begin."""
        waiting = len(self._workers)
        while True:
            found = signal.sigtimedwait({*_ENDS, signal.SIGCHLD}, 0.05 if waiting else 1.0)
            if found is not None and found.si_signo in _ENDS:
                return 0
            if waiting:
                waiting -= self._ready()
                if waiting <= 0:
                    waiting = 0
                    ready()
            for k, worker in enumerate(self._workers):
                if worker.poll() is None:
                    continue
                if worker.returncode == _FAILED:
                    # It has said why, and would do so again; where the ledger is lost, nobody may go on.
                    return _FAILED
                time.sleep(max(0.0, _PAUSE - (time.monotonic() - self._begun[k])))
                self._workers[k], self._begun[k] = self._start(k, anew=True), time.monotonic()

    def _ready(self) -> int:
        try:
            return len(os.read(self._told, 64))
        except BlockingIOError:
            return 0

    def _start(self, k: int, *, anew: bool = False) -> subprocess.Popen:
        fds = {"listening": self._listening, "shared": self._shared, "life": self._life, "tell": self._tell}
        given = json.dumps({**self._given, **fds, "worker": k, "anew": anew})
        # A URL may hold a password, and arguments are seen by all users of a machine.
        worker = subprocess.Popen(
            # -P: no module of the folder that one happens to be in.
            [sys.executable, "-P", "-m", "dperm.serve.processes"],
            stdin=subprocess.PIPE,
            pass_fds=list(fds.values()),
            text=True,
        )
        with suppress(BrokenPipeError), worker.stdin:
            worker.stdin.write(given)
        return worker

    def end(self) -> None:
        """Let all workers end what is under way, and end them then."""
        os.close(self._alive)
        last = time.monotonic() + _GRACE + 2
        for worker in self._workers:
            try:
                worker.wait(max(0.1, last - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
        for each in (self._life, self._told, self._tell, self._shared):
            os.close(each)


def work(
    model: str, ledger: str, workers: int, worker: int, anew: bool, listening: int, shared: int, life: int, tell: int
) -> int:
    """Be a worker (anew: for one that died): fit, answer until the watcher ends, and return the exit status."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {*_ENDS, signal.SIGCHLD})
    server = None

    def follow() -> None:
        os.read(life, 1)
        if server is None:
            os._exit(0)
        server.should_exit = True

    Thread(target=follow, daemon=True).start()
    # Not in the watcher: it stays small.
    import uvicorn
    from threadpoolctl import threadpool_limits

    from dperm.mechanisms.serving import Serving
    from dperm.serve import app, files
    from dperm.serve.service import Service
    from dperm.serve.shared import Shared

    class Server(uvicorn.Server):
        """Ends by a flag alone: what ended it is no error."""

        def capture_signals(self):
            return nullcontext()

    threadpool_limits(1)
    # What the constants promise was said when the model was packed.
    warnings.simplefilter("ignore", RuntimeWarning)
    if anew:
        # It was there before: one that is not there now was deleted, and a new one would be a new budget.
        Serving(ledger, None)
    service = Service(files.load(model), ledger, shared=Shared(shared, workers, worker))
    status = 0

    def end(*_: object) -> None:
        server.should_exit = True

    def broken(lost: bool) -> None:
        nonlocal status
        status = max(status, _FAILED if lost else 1)
        end()

    config = uvicorn.Config(
        app.made(service, broken=broken), lifespan="off", ws="none", log_level="warning", access_log=False,
        server_header=False, proxy_headers=False, timeout_keep_alive=60, timeout_graceful_shutdown=_GRACE,
    )  # fmt: skip
    server = Server(config)
    for each in _ENDS:
        signal.signal(each, end)
    os.write(tell, b"r")
    server.run(sockets=[socket.socket(fileno=os.dup(listening))])
    return status


def main() -> int:
    """Run a worker; what its user can mend is said in one line. A disk may heal, so its watcher tries again."""
    try:
        return work(**json.load(sys.stdin))
    except DpermError as error:
        print(f"dperm: error: {error}", file=sys.stderr, flush=True)
        return _FAILED
    except OSError as error:
        print(f"dperm: the ledger cannot be used: {error}; trying again", file=sys.stderr, flush=True)
    except Exception as error:
        from dperm.serve.app import log

        # The fit read all records.
        log("a worker failed", error)
    return 1


if __name__ == "__main__":
    sys.exit(main())
