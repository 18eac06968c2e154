"""Small models as files, and requests to the service without a network."""

import asyncio
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import dperm
from dperm.serve import app, files, pack
from dperm.serve.service import Service

CLASSES = ("no", "yes")
FIXED = {"epsilon": 4.0, "clip": True}
# One of each that is served, on the records below.
SERVED = {
    "AveragedPrediction": {"queries": 20, "classes": CLASSES},
    "ExpPW": {"queries": 20, "classes": CLASSES},
    "PINP": {"classes": CLASSES, "C": 0.01, "queries": 20, "epsilon": 500.0},
    "RKHSGaussian": {"classes": CLASSES, "C": 0.01},
    "SoftMajority": {"queries": 20, "classes": CLASSES},
    "StableERM": {"queries": 20, "classes": CLASSES},
    "StableSGD": {"queries": 20, "classes": CLASSES},
}


def records(n=600, *, seed=0):
    """Rows of two features, and labels by the first."""
    X = np.random.default_rng(seed).uniform(-0.7, 0.7, (n, 2))
    return X, np.where(X[:, 0] > 0, "yes", "no")


def estimator(name="SoftMajority", **given):
    return getattr(dperm, name)(**{**FIXED, **SERVED[name], **given})


def packed(path, name="SoftMajority", *, seed=0, **given):
    """The path of a model file."""
    file = path / f"{name}.dperm"
    pack(estimator(name, **given), *records(seed=seed), file)
    return file


def service(file, ledger, **how):
    return Service(files.load(file), ledger, **how)


def key(served, name="alice", **how):
    with served.serving.turn():
        return served.accounts.add(name, **how)


class Web:
    """A service over HTTP, without a socket."""

    def __init__(self, served, **how):
        self._app = app.made(served, **how)

    def __call__(self, path, body=None, *, key=None, method=None, **headers):
        """Status, headers and body of one request; a body that is no bytes is sent as JSON."""
        return asyncio.run(self._asked(path, body, key, method, headers))

    def all(self, requests):
        """The same of many at once: (path, body, key) each."""

        async def together():
            return await asyncio.gather(*(self._asked(*one, None, {}) for one in requests))

        return asyncio.run(together())

    async def _asked(self, path, body, key, method, headers):
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        given |= {} if key is None else {"authorization": f"Bearer {key}"}
        place, _, query = path.partition("?")
        lines = [(name.encode(), value.encode()) for name, value in given.items()]
        return await self._sent(method or ("GET" if body is None else "POST"), place, query.encode(), lines, [content])

    def raw(self, requests):
        """The same of requests that need not make sense, one after the other: `_sent`'s arguments each.

        All in one event loop: to make one takes as long as the answer.
        """

        async def in_turn():
            return [await self._sent(*one) for one in requests]

        return asyncio.run(in_turn())

    async def _sent(self, method, path, query, headers, parts):
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "root_path": "",
            "method": method, "path": path, "raw_path": path.encode(), "query_string": query,
            "server": ("127.0.0.1", 1), "client": ("127.0.0.1", 2), "headers": list(headers),
        }  # fmt: skip
        sent, left = [], list(parts)

        async def receive():
            part = left.pop(0)
            return {"type": "http.request", "body": part or b"", "more_body": bool(left)}

        async def send(message):
            sent.append(message)

        await self._app(scope, receive, send)
        found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return sent[0]["status"], found, b"".join(one.get("body", b"") for one in sent[1:])


def counted(metrics, name, **labels):
    """The number of a Prometheus line."""
    words = ",".join(f'{key}="{value}"' for key, value in labels.items())
    found = re.search(rf"^{re.escape(name + (f'{{{words}}}' if words else ''))} (\d+)$", metrics, re.MULTILINE)
    return int(found[1]) if found else 0


def started(file, ledger, *more):
    """A server as a shell without job control starts it in the background: with SIGINT ignored."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dperm.cli", "serve", file, "--budget-db", ledger, "--port", "0", *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    line = process.stdout.readline()
    if " on http" not in line:
        return process, process.communicate(timeout=60)[1]
    return process, line.split(" on ")[1].strip()


def workers(process):
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def gone(pids, seconds=60):
    """Wait until no such process runs; a zombie does not."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        states = [Path(f"/proc/{pid}/stat") for pid in pids]
        try:
            if all(state.read_text().rsplit(") ", 1)[1][0] == "Z" for state in states if state.exists()):
                return True
        except FileNotFoundError:
            continue
        time.sleep(0.05)
    return False
