"""A real Slurm of one node, this machine: started in a folder of its own, gone when its starter is.

python tests/cluster/one_node.py [--accounting] -- COMMAND    run a command while it is up, e.g. `bash`
"""

import argparse
import contextlib
import ctypes
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

# The plugin drops SLURM_CONF before its inner srun, so the configuration must stand where Slurm looks for it.
ETC = Path("/etc/slurm")
MARK = "# Written by tests/cluster/one_node.py, which removes it.\n"
DAEMONS = ("munged", "slurmctld", "slurmd")
OF_ACCOUNTING = ("slurmdbd", "mariadbd", "mariadb-install-db", "my_print_defaults")
CGROUPS = Path("/sys/fs/cgroup")
# slurmdbd's own port is Slurm's usual one; a database of somebody else may have the usual one of MariaDB.
DATABASE_PORT = 33306
SECONDS_TO_START = 60


class NoSlurm(RuntimeError):
    """This machine cannot run a Slurm of its own; the message says why and what to do."""


def enforces_memory() -> bool:
    """Whether a job can be killed for using more memory than it asked for: it takes cgroups (version 1) to do so."""
    needed = [CGROUPS / kind / "cgroup.procs" for kind in ("memory", "cpuset", "freezer")]
    return all(path.is_file() and os.access(path, os.W_OK) for path in needed)


@contextlib.contextmanager
def running(*, accounting: bool = False) -> Iterator[Path]:
    """Start the daemons, wait until the node is idle, give their folder (logs are in it), stop them in any case."""
    _check(accounting)
    folder = Path(tempfile.mkdtemp(prefix="one-node-"))
    written: list[Path] = []
    daemons: list[subprocess.Popen] = []
    try:
        for name, text, mode in _configuration(folder, accounting):
            path = ETC / name
            written.append(path)
            path.write_text(MARK + text, encoding="utf-8")
            path.chmod(mode)
        for command, ready in _commands(folder, accounting):
            daemons.append(_start(folder, command))
            _wait(folder, daemons[-1], command[0], ready)
        yield folder
    finally:
        if len(daemons) >= len(DAEMONS):
            subprocess.run(["scancel", "--user", "root"], capture_output=True, timeout=30, check=False)
            _until(lambda: not _stdout("squeue", "-h", "--states=running,completing"), 10)
        for daemon in reversed(daemons):
            _stop(daemon)
        for path in written:
            path.unlink(missing_ok=True)
        _remove_cgroups()
        shutil.rmtree(folder, ignore_errors=True)


def _check(accounting: bool) -> None:
    if os.geteuid() != 0:
        raise NoSlurm("a Slurm of one's own needs root: it writes /etc/slurm and starts daemons; use a container")
    missing = [name for name in DAEMONS + OF_ACCOUNTING * accounting if shutil.which(name) is None]
    if missing:
        raise NoSlurm(
            f"{', '.join(missing)} not found; `make test-cluster` installs what is needed on Debian and Ubuntu"
        )
    for name in ("slurm.conf", "slurmdbd.conf", "cgroup.conf"):
        path = ETC / name
        if path.exists() and not path.read_text(encoding="utf-8").startswith(MARK):
            raise NoSlurm(f"{path} is of another Slurm; these tests do not touch it: run them on another machine")
    for port in (6817, 6818) + (6819, DATABASE_PORT) * accounting:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                raise NoSlurm(f"port {port} is taken: another Slurm runs here")


def _configuration(folder: Path, accounting: bool) -> Iterator[tuple[str, str, int]]:
    host = socket.gethostname().partition(".")[0]
    node = _stdout("slurmd", "-C").splitlines()[0].replace(f"NodeName={host}", f"NodeName={host} NodeAddr=127.0.0.1")
    settings = {
        "ClusterName": "onenode",
        "SlurmctldHost": f"{host}(127.0.0.1)",
        "SlurmUser": "root",
        "SlurmdUser": "root",
        "AuthType": "auth/munge",
        "CredType": "cred/munge",
        "AuthInfo": f"socket={folder}/munge/socket",
        "StateSaveLocation": f"{folder}/controller",
        "SlurmdSpoolDir": f"{folder}/node",
        "SlurmctldPidFile": f"{folder}/slurmctld.pid",
        "SlurmdPidFile": f"{folder}/slurmd.pid",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "JobAcctGatherType": "jobacct_gather/none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core_Memory",
        "SchedulerType": "sched/backfill",
        "SchedulerParameters": "sched_min_interval=0,batch_sched_delay=0",
        "MpiDefault": "none",
        "SwitchType": "switch/none",
        "ReturnToService": "2",
        "AccountingStorageType": "accounting_storage/none",
        # What squeue still knows is what these tests look at; 300 s is what clusters have.
        "MinJobAge": "3600",
    }
    if enforces_memory():
        settings |= {
            "ProctrackType": "proctrack/cgroup",
            "TaskPlugin": "task/cgroup",
            "JobAcctGatherType": "jobacct_gather/linux",
        }
        yield "cgroup.conf", f"CgroupPlugin=cgroup/v1\nCgroupMountpoint={CGROUPS}\nConstrainRAMSpace=yes\n", 0o644
    if accounting:
        password = secrets.token_hex(16)
        (folder / "users.sql").write_text(
            f"CREATE USER 'slurm'@'%' IDENTIFIED BY '{password}';\nGRANT ALL ON *.* TO 'slurm'@'%';\n", encoding="utf-8"
        )
        settings |= {
            "AccountingStorageType": "accounting_storage/slurmdbd",
            "AccountingStorageHost": "127.0.0.1",
            "AccountingStoragePass": f"{folder}/munge/socket",
            "AccountingStoreFlags": "job_comment",
        }
        database = {
            "DbdHost": host,
            "DbdAddr": "127.0.0.1",
            "SlurmUser": "root",
            "AuthType": "auth/munge",
            "AuthInfo": settings["AuthInfo"],
            "PidFile": f"{folder}/slurmdbd.pid",
            "StorageType": "accounting_storage/mysql",
            "StorageHost": "127.0.0.1",
            "StoragePort": str(DATABASE_PORT),
            "StorageUser": "slurm",
            "StoragePass": password,
        }
        yield "slurmdbd.conf", _lines(database), 0o600
    partition = f"PartitionName=debug Nodes={host} Default=YES MaxTime=INFINITE State=UP"
    yield "slurm.conf", f"{_lines(settings)}{node} State=UNKNOWN\n{partition}\n", 0o644


def _lines(settings: dict[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def _commands(folder: Path, accounting: bool) -> Iterator[tuple[list[str], object]]:
    """Give each daemon's command, to be run in the foreground, and what is true once it is ready."""
    for name in ("munge", "controller", "node"):
        (folder / name).mkdir()
    folder.chmod(0o755)
    (folder / "munge").chmod(0o755)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    end = folder / "munge" / "socket"
    yield (
        ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={end}",
         f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/munge.seed"],
        end.exists,
    )  # fmt: skip
    if accounting:
        data = folder / "database"
        install = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--user=root", "--skip-test-db"]
        subprocess.run(install, capture_output=True, text=True, timeout=SECONDS_TO_START, check=True)
        yield (
            ["mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={folder}/database.socket", "--user=root",
             "--bind-address=127.0.0.1", f"--port={DATABASE_PORT}", f"--init-file={folder}/users.sql",
             f"--pid-file={folder}/database.pid", "--innodb-flush-log-at-trx-commit=0"],
            lambda: _answers(DATABASE_PORT),
        )  # fmt: skip
        yield ["slurmdbd", "-D"], lambda: _answers(6819)
        _stdout("sacctmgr", "--immediate", "add", "cluster", "onenode")
    yield ["slurmctld", "-D"], lambda: "UP" in _stdout("scontrol", "ping")
    yield ["slurmd", "-D"], lambda: _stdout("sinfo", "-h", "-o", "%T") == "idle"


def _start(folder: Path, command: list[str]) -> subprocess.Popen:
    with (folder / f"{command[0]}.out").open("wb") as output:
        return subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            # A daemon is not to outlive these tests, not even when they are killed by a signal that nobody can catch.
            preexec_fn=_die_with_parent, start_new_session=True,
        )  # fmt: skip


def _die_with_parent() -> None:
    set_death_signal = 1
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)


def _wait(folder: Path, daemon: subprocess.Popen, name: str, ready) -> None:
    if _until(lambda: daemon.poll() is not None or ready(), SECONDS_TO_START) and daemon.poll() is None:
        return
    ended = "" if daemon.poll() is None else f", it ended with status {daemon.poll()}"
    said = (folder / f"{name}.out").read_text(errors="replace")[-2000:]
    raise NoSlurm(f"{name} does not start{ended}:\n{said}")


def _stop(daemon: subprocess.Popen) -> None:
    if daemon.poll() is None:
        daemon.terminate()
        try:
            daemon.wait(10)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait(10)


def _remove_cgroups() -> None:
    for top in CGROUPS.glob("*/slurm*"):
        for folder in sorted(top.rglob("*/"), reverse=True):
            with contextlib.suppress(OSError):
                folder.rmdir()
        with contextlib.suppress(OSError):
            top.rmdir()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _until(true, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not (found := true()) and time.monotonic() < end:
        time.sleep(0.1)
    return bool(found)


def _stdout(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_TO_START, check=False)
    return done.stdout.strip()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accounting", action="store_true", help="with slurmdbd and a database, so that sacct answers")
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    # A polite kill tidies up as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with running(accounting=given.accounting):
            sys.exit(subprocess.run(given.command, check=False).returncode)
    except NoSlurm as error:
        sys.exit(f"error: {error}")
