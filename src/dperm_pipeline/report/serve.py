"""Serve the report on localhost, for browsers that do not open files from disk."""

import signal
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from dperm.errors import ConfigError

HOST = "127.0.0.1"


class _Quiet(SimpleHTTPRequestHandler):
    """A handler that does not tell of each request."""

    def log_message(self, *_):
        """Say nothing."""


def server(folder: str | Path, port: int) -> ThreadingHTTPServer:
    """Return a server of one folder, reachable from this machine alone; its caller starts and closes it.

    Port 0 takes any that is free. ConfigError if the port is taken or forbidden.
    """
    try:
        return ThreadingHTTPServer((HOST, port), partial(_Quiet, directory=str(folder)))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"port {port} cannot be had ({reason}); give another one: make serve PORT=8765") from None


def serve(folder: str | Path, port: int) -> None:
    """Serve a folder until Ctrl-C, and say where; the port as of `server`."""
    # A script that starts this in the background has it ignore Ctrl-C, and nothing else ends it in words.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    with server(folder, port) as running:
        print(f"serving {folder} at http://{HOST}:{running.server_port}/ (Ctrl-C ends it)", flush=True)
        try:
            running.serve_forever()
        except KeyboardInterrupt:
            print("\nended")
