"""Ledgers of every kind for tests, a PostgreSQL server of one's own among them."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import tls

from dperm.mechanisms.serving import Listener, Serving

STORES = ("file", "sqlite", "postgres")


def as_whom() -> dict:
    """PostgreSQL refuses root."""
    if os.getuid() != 0:
        return {}
    names = {entry.pw_name for entry in pwd.getpwall()}
    return {"user": "postgres" if "postgres" in names else "nobody", "extra_groups": []}


def programs() -> Path | None:
    """The folder of initdb and postgres: on PATH, or where Debian puts them."""
    found = shutil.which("initdb")
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    return Path(found).parent if found else debian[-1].parent if debian else None


@contextlib.contextmanager
def server(certified=None):
    """A server that listens on a socket in a folder of its own alone; its URL.

    `certified`: a certificate and its key; then it listens on localhost, takes nobody without TLS, and the URL has TLS.
    """
    where, whom = programs(), as_whom()
    folder = Path(tempfile.mkdtemp(prefix="dperm-pg-"))
    try:
        if whom:
            shutil.chown(folder, whom["user"])
        data, quiet = folder / "data", {"check": True, "capture_output": True, "cwd": folder, "timeout": 120, **whom}
        subprocess.run(
            [where / "initdb", "-D", data, "-U", "ledger", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"],
            **quiet,
        )
        options = f"-k {folder} -c max_connections=60 -c shared_buffers=16MB"
        url = f"postgresql:///postgres?host={folder}&user=ledger"
        if certified is None:
            options += " -c listen_addresses="
        else:
            files = [shutil.copy(path, folder) for path in certified]
            for path in files:
                Path(path).chmod(0o600)
                if whom:
                    shutil.chown(path, whom["user"])
            number = tls.port()
            options += f" -c listen_addresses=localhost -p {number} -c ssl=on"
            options += f" -c ssl_cert_file={files[0]} -c ssl_key_file={files[1]}"
            (data / "pg_hba.conf").write_text("local all all trust\nhostssl all all all trust\n", encoding="ascii")
            url = f"postgresql://ledger@localhost:{number}/postgres?sslmode=verify-full&sslrootcert={certified[0]}"
        start = [where / "pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", options, "start"]
        # What it starts keeps no pipe of ours.
        subprocess.run(start, **{**quiet, "capture_output": False, "stdout": subprocess.DEVNULL})
        try:
            yield url
        finally:
            subprocess.run([where / "pg_ctl", "-D", data, "-m", "immediate", "stop"], **quiet)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def schema(url: str, name: str) -> str:
    """The URL of a ledger of its own on a server: in a schema."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(psycopg.sql.SQL("CREATE SCHEMA {}").format(psycopg.sql.Identifier(name)))
    return f"{url}&options=-csearch_path%3D{name}"


class Place:
    """Where one test's ledgers stand, in a store of one kind."""

    def __init__(self, kind: str, folder: Path, url: str | None):
        self.kind, self._folder, self._url = kind, folder, url

    def __call__(self, name: str = "ledger") -> str:
        """What `state=` names; the same for the same name."""
        if self.kind == "file":
            return str(self._folder / name)
        if self.kind == "sqlite":
            return f"sqlite:///{self._folder / name}"
        schemas = self._folder / f"{name}.schema"
        if not schemas.exists():
            schemas.write_text(schema(self._url, f"s{os.urandom(8).hex()}"))
        return schemas.read_text()

    def change(self, sql: str, *given: object, name: str = "ledger") -> None:
        """Change rows of a database behind everybody's back."""
        import sqlite3

        if self.kind == "sqlite":
            with contextlib.closing(sqlite3.connect(self._folder / name, isolation_level=None)) as connection:
                connection.execute(sql, given)
        else:
            import psycopg

            with psycopg.connect(self(name), autocommit=True) as connection:
                connection.execute(sql.replace("?", "%s"), given or None)


class Seen(Listener):
    """All records, in their order."""

    def __init__(self, where):
        self.serving, self.all = Serving(where, {"what": "test"}), []
        self.serving.listen(self)

    def forget(self):
        self.all = []

    def replay(self, records):
        self.all += records

    def write(self, *records):
        with self.serving.turn():
            self.serving.write(*records)
            self.all += records

    def read(self):
        with self.serving.turn():
            return list(self.all)
