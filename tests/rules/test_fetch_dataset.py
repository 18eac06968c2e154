"""fetch_dataset: the right files in the folder and a receipt, or a message and nothing."""

import gzip
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from data_server import FILES, entry, serving, sha256, zipped

from dperm_pipeline.datasets.catalogue import TRUST

FOLDER = "resources/downloads/toy-set"
RECEIPT = "resources/downloads/toy-set.json"
TRUSTED = "resources/trusted/toy-set.json"


@pytest.fixture
def fetch_dataset(run_script, monkeypatch):
    """Return a function (what = run_script or run_script.fails) that gives the script a catalogue entry."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    # pooch waits a second or two before it asks again.
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)

    def run(what, entry, **more):
        Path("datasets.yaml").write_text(yaml.safe_dump({entry["name"]: entry}), encoding="utf-8")
        return what(
            "fetch_dataset",
            input={"catalogue": "datasets.yaml"},
            output={"receipt": RECEIPT},
            params={"files": entry["files"], "folder": FOLDER, "trusted": TRUSTED},
            wildcards={"dataset": entry["name"]},
            **more,
        )

    return run


def fill(folder, files=FILES):
    """Make a mirror with these files, the first of them gzipped."""
    (folder / "toy_set").mkdir(parents=True)
    for number, (name, content) in enumerate(files.items()):
        if number:
            (folder / "toy_set" / name).write_bytes(content)
        else:
            (folder / "toy_set" / f"{name}.gz").write_bytes(gzip.compress(content))
    return str(folder)


def trusting():
    """The files of the entry, their checksums unknown."""
    return {name: {"bytes": len(data), "sha256": TRUST} for name, data in FILES.items()}


def content(folder=FOLDER):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def test_from_the_mirror_of_the_configuration(fetch_dataset, run_script, tmp_path):
    mirror = fill(tmp_path / "mirror")
    fetch_dataset(run_script, entry(), config={"mirror": mirror})
    assert content() == FILES
    assert json.loads(Path(RECEIPT).read_text()) == {name: sha256(data) for name, data in FILES.items()}
    assert f"toy.data, toy.test from the mirror {mirror}" in run_script.log
    assert not Path(TRUSTED).exists()


def test_from_the_mirror_of_the_environment(fetch_dataset, run_script, tmp_path, monkeypatch):
    monkeypatch.setenv("DPERM_MIRROR", fill(tmp_path / "mirror"))
    fetch_dataset(run_script, entry(), config={"mirror": None})
    assert content() == FILES


def test_the_configuration_goes_before_the_environment(fetch_dataset, run_script, tmp_path, monkeypatch):
    other = {name: bytes.upper(data) + b"9" for name, data in FILES.items()}
    monkeypatch.setenv("DPERM_MIRROR", fill(tmp_path / "other", other))
    mirror = fill(tmp_path / "mirror")
    fetch_dataset(run_script, entry() | {"files": trusting()}, config={"mirror": mirror})
    assert content() == FILES


def test_from_the_first_address_that_has_the_right_bytes(fetch_dataset, run_script):
    swapped = dict(zip(FILES, reversed(FILES.values()), strict=True))
    with serving({"/bad.zip": zipped(swapped), "/good.zip": zipped(FILES)}) as (base, asked):
        fetch_dataset(run_script, entry([f"{base}/bad.zip"], [f"{base}/good.zip"]))
    assert content() == FILES
    assert asked == ["/bad.zip", "/good.zip"]
    assert "not from" in run_script.log and "bad.zip" in run_script.log


def test_trust_on_first_use_is_remembered_and_then_checked(fetch_dataset, run_script, tmp_path):
    trusted = entry() | {"files": trusting()}
    fetch_dataset(run_script, trusted, config={"mirror": fill(tmp_path / "mirror")})
    assert json.loads(Path(TRUSTED).read_text()) == {name: sha256(data) for name, data in FILES.items()}
    assert "trusted on first use" in run_script.log
    other = fill(tmp_path / "other", FILES | {"toy.test": b"6,5\n" * 20})
    (Path(FOLDER) / "toy.data").unlink()
    said = fetch_dataset(run_script.fails, trusted, config={"mirror": other}, leaves=[RECEIPT])
    assert sha256(FILES["toy.test"]) in said
    assert content() == {"toy.test": FILES["toy.test"]}


def test_no_mirror_and_no_network(fetch_dataset, run_script, capsys):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/toy.zip"
    said = fetch_dataset(run_script.fails, entry([address]))
    for needed in (address, "folder mirror/toy-set/", *map(sha256, FILES.values()), *FILES):
        assert needed in said
    assert said.count(f"{address}: no connection") == 1
    assert "toy-set (Toy) could not be fetched" in capsys.readouterr().err


def test_a_mirror_without_the_set(fetch_dataset, run_script, tmp_path):
    (tmp_path / "empty").mkdir()
    said = fetch_dataset(run_script.fails, entry(), config={"mirror": str(tmp_path / "empty")})
    assert "it does not hold toy.data" in said


def test_adult(fetch_dataset, run_script, catalogue, mirror, pytestconfig):
    """adult.names: 48842 instances, train = 32561, test = 16281 (under a line of its own)."""
    # The script runs in another folder, and DPERM_MIRROR may be relative.
    folder = pytestconfig.invocation_params.dir / mirror
    fetch_dataset(run_script, catalogue["adult"] | {"sources": []}, config={"mirror": str(folder)})
    lines = {path.name: path.read_text().split("\n") for path in Path(FOLDER).iterdir()}
    records = {name: sum(line.count(",") == 14 for line in of_file) for name, of_file in lines.items()}
    assert records == {"adult.data": 32561, "adult.test": 16281}


LINE = "39, State-gov, 77516, Bachelors, 13, Divorced, Sales, Husband, White, Male, 2174, 0, 40, Cuba, "
SMALL = {"adult.data": f"{LINE}<=50K\n{LINE}>50K\n".encode(), "adult.test": f"{LINE}>50K.\n".encode()}
PREPARED = "resources/prepared/adult.parquet"


class Project:
    """A project whose Adult has three records and comes from a mirror alone, run by Snakemake in its own process."""

    def __init__(self, folder):
        self.folder, self.path = folder, folder / "config/datasets.yaml"
        adult = yaml.safe_load(self.path.read_text(encoding="utf-8"))["adult"]
        self.adult = {key: value for key, value in adult.items() if key not in ("rows", "positive_rows")}
        self.adult |= {"sources": [], "files": {n: {"bytes": len(c), "sha256": sha256(c)} for n, c in SMALL.items()}}
        self.edit()

    def edit(self, **changes):
        document = yaml.safe_load(self.path.read_text(encoding="utf-8")) | {"adult": self.adult | changes}
        self.path.write_text(yaml.safe_dump(document), encoding="utf-8")

    def run(self, *more):
        """Return whether it succeeded, and the messages of the jobs."""
        environment = {key: value for key, value in os.environ.items() if key != "DPERM_MIRROR"}
        command = [sys.executable, "-m", "snakemake", "--cores", "1", PREPARED, "--config", "scale=tiny", *more]
        ran = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)
        said = ran.stdout + ran.stderr
        return ran.returncode == 0, [job for job in ("fetch adult", "prepare adult") if job in said]


@pytest.mark.slow
def test_only_another_file_is_fetched_again_and_a_failure_loses_nothing(own_workflow, tmp_path):
    project = Project(own_workflow.folder)
    (tmp_path / "mirror").mkdir()
    for name, data in SMALL.items():
        (tmp_path / "mirror" / name).write_bytes(data)
    assert project.run(f"mirror={tmp_path / 'mirror'}") == (True, ["fetch adult", "prepare adult"])
    downloads = project.folder / "resources/downloads"
    before = (project.folder / PREPARED).read_bytes()
    # From here on there is no mirror, and no address.
    project.edit(title="Another", mirror_folder="another", ranges=project.adult["ranges"] | {"age": [0, 100]})
    assert project.run() == (True, ["prepare adult"])
    assert (project.folder / PREPARED).read_bytes() != before
    project.edit(files=project.adult["files"] | {"adult.data": {"bytes": 5, "sha256": sha256(b"other")}})
    assert project.run() == (False, ["fetch adult"])
    assert not (downloads / "adult.json").exists()
    assert content(downloads / "adult") == SMALL
    # Back again: what is there still counts, nothing has to come.
    project.edit()
    assert project.run() == (True, ["fetch adult", "prepare adult"])
    assert (project.folder / PREPARED).read_bytes() == before
