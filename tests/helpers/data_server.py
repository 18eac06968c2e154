"""A server on this machine that answers as the test says, and what a small data set looks like to it."""

import contextlib
import hashlib
import io
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FILES = {"toy.data": b"1,2\n3,4\n" * 50, "toy.test": b"5,6\n" * 20}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def entry(*sources: list[str], files=FILES, **more) -> dict:
    """A catalogue entry with these files and addresses."""
    return {
        "name": "toy-set",
        "title": "Toy",
        "task": "binary",
        "format": "adult",
        "target": {"column": "b", "positive": 1},
        "files": {name: {"bytes": len(content), "sha256": sha256(content)} for name, content in files.items()},
        "sources": [*sources],
        **more,
    }


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(members: dict[str, bytes | tarfile.TarInfo], mode: str = "w:gz") -> bytes:
    """A tar of files; a member given as TarInfo is added as it is (a link, a device)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, content in members.items():
            info = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = len(content) if isinstance(content, bytes) else 0
            archive.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
    return buffer.getvalue()


@contextlib.contextmanager
def listening(handler: type[BaseHTTPRequestHandler]):
    """Serve on a free port of this machine; yields the base address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.contextmanager
def serving(answers: dict):
    """Serve path -> bytes, (status, headers, body), or a list of these, one for each request in turn.

    Yields (base address, list of the paths that were asked for).
    """
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            answer = answers.get(self.path, (404, {}, b"no such page"))
            if isinstance(answer, list):
                answer = answer.pop(0) if len(answer) > 1 else answer[0]
            status, headers, body = answer if isinstance(answer, tuple) else (200, {}, answer)
            self.send_response(status)
            for key, value in {"Content-Length": len(body), **headers}.items():
                self.send_header(key, str(value))
            self.end_headers()
            # A client that gives up early is part of some tests.
            with contextlib.suppress(OSError):
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    with listening(Handler) as base:
        yield base, asked
