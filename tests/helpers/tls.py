"""Certificates of this machine for tests, and a free port."""

import socket
import subprocess


def certificate(folder, name="localhost"):
    """Paths of a self-signed certificate and its key, for `name` and 127.0.0.1."""
    folder.mkdir(exist_ok=True)
    made, key = folder / f"{name}.pem", folder / f"{name}.key"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "1",
    ]
    given = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name},IP:127.0.0.1"]
    subprocess.run([*command, *given, "-keyout", key, "-out", made], check=True, capture_output=True, timeout=60)
    return made, key


def port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]
