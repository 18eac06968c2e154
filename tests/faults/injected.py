"""What the tests of faults share: a short run of a few cells, and jobs that wait where a test wants them."""

import os
import signal
import time
from contextlib import contextmanager
from pathlib import Path

EXPERIMENT = "results/tiny/kifer2012-output"
ROWS = f"{EXPERIMENT}/rows.parquet"
CELLS = f"{EXPERIMENT}/cells"
# Of the mechanism and the comparators: the first is what is interrupted, the second goes on.
CELL, OTHER = (f"{CELLS}/{name}.add-remove/breast-cancer_epsilon-1.parquet" for name in ("output.tight", "cms11.paper"))
# Stands before a rule's script in the copy: what the job writes is kept back, in a process of its own, until a test
# lets it go. `{change}`: what its code makes of the rows that the code of today makes.
WAITING = """
import os, pathlib, time
import dperm_pipeline.files, dperm_pipeline.tables
_write = dperm_pipeline.tables.write_all

def _waits(frames, path, **given):
    if path != {path!r}:
        return _write(frames, path, **given)
    frames = [{change} for rows in frames]
    with dperm_pipeline.files.replacing({where!r}) as temporary:
        pathlib.Path("waits").write_text(str(os.getpid()))
        while not pathlib.Path("go").exists():
            time.sleep(0.05)
    _write(frames, path, **given)

dperm_pipeline.tables.write_all = _waits
"""
SLOW = 300


def wait(condition, seconds=SLOW):
    """Wait until a condition holds, and return it."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
    return found


@contextmanager
def before_script(project, rule, code):
    """Code before a rule's script, in the copy, without a newer time: to Snakemake the script is the same."""
    script = project.folder / f"workflow/scripts/{rule}.py"
    text, times = script.read_bytes(), script.stat()

    def put(content):
        script.write_bytes(content)
        os.utime(script, ns=(times.st_atime_ns, times.st_mtime_ns))

    put(code.encode() + text)
    try:
        yield
    finally:
        put(text)


def waiting_at(project, path=CELL, *, change="rows", while_writing=False):
    """A cell's job that waits for the file `go`, before it writes or in the middle of that."""
    where = path if while_writing else "elsewhere"
    return before_script(project, "run_cell", WAITING.format(path=path, change=change, where=where))


def process_waiting(project, run):
    """The job that waits, once it does."""

    def found():
        assert run.poll() is None, run.stdout.read()
        marker = project.folder / "waits"
        return marker.exists() and marker.read_text()

    return int(wait(found))


def go(project):
    (project.folder / "go").touch()


def ended(pid):
    """Whether a process that is not our child is gone."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def kill(process):
    """kill -9 of one process alone."""
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=60)


def undone(project, *paths):
    """Take finished files away, the collected rows with them; return when each of the others was made."""
    for path in (*paths, ROWS):
        (project.folder / path).unlink()
    return made(project)


def made(project):
    """When each cell and baseline was made."""
    folder = project.folder / EXPERIMENT
    return {path: path.stat().st_mtime_ns for path in folder.glob("*/**/[!.]*.parquet")}


def assert_healed(project, undisturbed, before):
    """The bytes of an undisturbed run; what was finished was not made again; nothing half-done lies about."""
    after = made(project)
    assert {path: after[path] for path in before} == before
    found = project.results()
    assert sorted(found) == sorted(undisturbed)
    assert [path for path in found if found[path] != undisturbed[path]] == []
    assert hidden(project) == []


def hidden(project):
    # Snakemake notes in a folder that is an output when it was made.
    found = [path for folder in ("results", "resources") for path in (project.folder / folder).rglob(".*")]
    return [path for path in found if path.name != ".snakemake_timestamp"]
