"""Downloads that end early, files that only look right, a run that is killed while a file comes in."""

import contextlib
import os
import shutil
import signal
import threading
import time
from http.server import BaseHTTPRequestHandler

import pytest
import yaml
from data_server import listening, serving, sha256

LINE = "39, State-gov, 77516, Bachelors, 13, Divorced, Sales, Husband, White, Male, 2174, 0, 40, Cuba, "
FILES = {"adult.data": f"{LINE}<=50K\n{LINE}>50K\n".encode(), "adult.test": f"{LINE}>50K.\n".encode()}
PREPARED = "resources/prepared/adult.parquet"
RECEIPT = "resources/downloads/adult.json"


@pytest.fixture
def small(project):
    """The project with an Adult of three records, which comes from the addresses that a test names."""
    path = project.folder / "config/datasets.yaml"
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    for key in ("rows", "positive_rows"):
        document["adult"].pop(key)
    document["adult"]["files"] = {n: {"bytes": len(c), "sha256": sha256(c)} for n, c in FILES.items()}

    def comes_from(*sources):
        document["adult"]["sources"] = list(sources)
        path.write_text(yaml.safe_dump(document), encoding="utf-8")
        return project

    return comes_from


def fetched(project):
    folder = project.folder / "resources/downloads/adult"
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


@contextlib.contextmanager
def stalling(content: bytes):
    """Serve half of a file and then no more; yields its address and an event that says when it has come to that."""
    halfway, released = threading.Event(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2])
            self.wfile.flush()
            halfway.set()
            released.wait(120)

        def log_message(self, *_):
            pass

    with listening(Handler) as base:
        try:
            yield base, halfway
        finally:
            released.set()


def assert_as_undisturbed(project, config=("scale=tiny",)):
    """What was prepared has the bytes that it has where nothing ever went wrong."""
    healed = (project.folder / PREPARED).read_bytes()
    shutil.rmtree(project.folder / "resources/downloads")
    (project.folder / PREPARED).unlink()
    project.run(PREPARED, config=config)
    assert (project.folder / PREPARED).read_bytes() == healed


@pytest.mark.faults
def test_a_truncated_download_and_a_mirror_with_another_file(small, tmp_path):
    mirror = tmp_path / "mirror/adult"
    mirror.mkdir(parents=True)
    # The right names and sizes, other content: what a mirror of another release holds.
    for name, content in FILES.items():
        (mirror / name).write_bytes(content.replace(b"39", b"93"))
    cut = (200, {}, FILES["adult.data"][:-7])
    addresses = {"/adult.data": cut, "/adult.test": FILES["adult.test"]}
    config = ("scale=tiny", f"mirror={mirror.parent}")
    with serving(addresses) as (base, _):
        project = small([f"{base}{path}" for path in addresses])
        said = project.run(PREPARED, check=False, config=config)
        assert "Traceback" not in said
        assert f"{mirror / 'adult.data'} was refused: adult.data has" in said
        assert f"{sha256(FILES['adult.data'].replace(b'39', b'93'))} instead of" in said
        assert "what came has another sha256" in said
        assert (
            f"Put these files, plain or compressed (.gz, .bz2, .xz, .zip), into the folder {mirror}/ and run again"
            in said
        )
        assert fetched(project) == {}
        assert not (project.folder / RECEIPT).exists() and not (project.folder / PREPARED).exists()
        # Healed: the address has the whole file now, whatever the mirror holds.
        addresses["/adult.data"] = FILES["adult.data"]
        said = project.run(PREPARED, config=config)
    assert fetched(project) == FILES
    log = (project.folder / "logs/fetch/adult.log").read_text(encoding="utf-8")
    assert f"{mirror / 'adult.data'} was refused" in log
    # Damaged after it was fetched: noticed by the next job that reads it, and the remedy is said.
    data = project.folder / "resources/downloads/adult/adult.data"
    data.write_bytes(FILES["adult.data"].replace(b"39", b"93"))
    (project.folder / PREPARED).unlink()
    said = project.run(PREPARED, check=False, config=config)
    assert f"fetch it again (in the pipeline: delete {RECEIPT} and run again)" in said
    (project.folder / RECEIPT).unlink()
    for name, content in FILES.items():
        (mirror / name).write_bytes(content)
    project.run(PREPARED, config=config)
    assert fetched(project) == FILES
    assert_as_undisturbed(project, config)


@pytest.mark.faults
def test_killed_in_the_middle_of_a_download_and_resumed(small):
    with stalling(FILES["adult.data"]) as (base, halfway):
        project = small([f"{base}/adult.data", f"{base}/adult.test"])
        process = project.start(PREPARED)
        assert halfway.wait(120), process.stdout.read()
        time.sleep(0.2)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
    assert fetched(project) == {} and not (project.folder / RECEIPT).exists()
    with serving({f"/{name}": content for name, content in FILES.items()}) as (base, _):
        project = small([f"{base}/adult.data", f"{base}/adult.test"])
        project.run("--unlock")
        project.run(PREPARED)
        assert fetched(project) == FILES
        assert_as_undisturbed(project)
