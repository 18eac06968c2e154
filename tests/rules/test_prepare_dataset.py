"""prepare_dataset: one Parquet file within public bounds, or a message and nothing."""

import json
from pathlib import Path

import numpy as np
import pytest
from data_server import FILES, sha256
from data_server import entry as adult_like

from dperm_pipeline import tables
from dperm_pipeline.datasets import catalogue as entries
from dperm_pipeline.datasets import prepared
from dperm_pipeline.datasets.catalogue import TRUST

OUT = "resources/prepared/it.parquet"
FOLDER = "resources/downloads/toy-set"
RECEIPT = "resources/downloads/toy-set.json"
TRUSTED = "resources/trusted/toy-set.json"
PEOPLE = {
    "name": "people",
    "task": "binary",
    "format": "csv",
    "target": {"column": "tall", "positive": "yes", "negative": "no"},
    "ranges": {"height": [100, 200]},
    "levels": {"eyes": ["blue", "brown"]},
    "data_dependent": [],
}
CSV = "height,eyes,tall,secret\n150,blue,no,1\n200,brown,yes,2\n100,brown,no,3\n"


@pytest.fixture
def prepare_dataset(run_script):
    def run(what, entry, files=()):
        return what(
            "prepare_dataset",
            input={"files": list(files)},
            output={"data": OUT},
            params={
                "entry": entries.numeric(entry),
                "folder": FOLDER,
                "trusted": TRUSTED,
                "sources": {},
                "code": "digest",
            },
            wildcards={"dataset": entry["name"]},
        )

    return run


def test_breast_cancer(prepare_dataset, run_script, catalogue, breast_cancer):
    prepare_dataset(run_script, catalogue["breast-cancer"])
    dataset = prepared.read(OUT)
    # The description that comes with scikit-learn: 569 instances, 212 malignant, 357 benign, 30 attributes.
    assert dataset.X.shape == (569, 30 + 1)
    assert ((dataset.y == 1).sum(), (dataset.y == -1).sum()) == (212, 357)
    assert np.linalg.norm(dataset.X, axis=1).max() <= dataset.bounds.x_norm == pytest.approx(31**0.5)
    assert dataset.provenance["data_dependent"] == catalogue["breast-cancer"]["data_dependent"] != []
    np.testing.assert_array_equal(dataset.X, prepared.read(breast_cancer).X)
    told = tables.metadata(OUT)
    assert told["entry"] == entries.numeric(catalogue["breast-cancer"])
    assert told["code"] == "digest" and told["versions"]


def test_a_csv_of_my_own(prepare_dataset, run_script):
    Path("people.csv").write_text(CSV)
    prepare_dataset(run_script, PEOPLE, ["people.csv"])
    dataset = prepared.read(OUT)
    # height from [100, 200] to [0, 1]; blue; brown; the constant.
    np.testing.assert_array_equal(dataset.X, [[0.5, 1, 0, 1], [1, 0, 1, 1], [0, 0, 1, 1]])
    np.testing.assert_array_equal(dataset.y, [-1, 1, -1])
    assert dataset.bounds.x_norm == pytest.approx(3**0.5)
    assert dataset.provenance["files"] == {"people.csv": sha256(CSV.encode())}
    assert not any("secret" in feature for feature in dataset.features)


@pytest.mark.parametrize(
    ("csv", "words"),
    [
        (CSV.replace("200", "987654"), "'height'"),
        (CSV.replace("blue", "green"), "'eyes'"),
        (CSV.replace("no", "never", 1), "'tall'"),
        (CSV.replace("height", "hight"), "has no column 'height'"),
        (CSV.replace("blue,", ""), "line 2 has 3 fields instead of 4"),
    ],
    ids=["out-of-range", "unknown-level", "unknown-label", "no-column", "short-line"],
)
def test_a_csv_that_does_not_fit(prepare_dataset, run_script, csv, words):
    Path("people.csv").write_text(csv)
    said = prepare_dataset(run_script.fails, PEOPLE, ["people.csv"])
    assert "people" in said and words in said
    # What is said of private data names columns and places, never values.
    assert not any(value in said for value in ("987654", "green", "never"))


def test_no_csv(prepare_dataset, run_script):
    said = prepare_dataset(run_script.fails, PEOPLE, ["people.csv"])
    assert "there is no file people.csv; mend people.path" in said


def test_where_a_file_lies_changes_no_byte(prepare_dataset, run_script):
    made = []
    for folder in ("here", "there"):
        Path(folder).mkdir()
        Path(folder, "people.csv").write_text(CSV)
        prepare_dataset(run_script, PEOPLE, [Path(folder, "people.csv")])
        made.append(Path(OUT).read_bytes())
    assert made[0] == made[1]


def test_what_was_fetched_is_checked_again(prepare_dataset, run_script):
    folder = Path(FOLDER)
    folder.mkdir(parents=True)
    (folder / "toy.data").write_bytes(FILES["toy.data"])
    said = prepare_dataset(run_script.fails, adult_like(), [RECEIPT])
    assert f"no file {folder}/toy.test; fetch it again (in the pipeline: delete {RECEIPT} and run again)" in said
    (folder / "toy.test").write_bytes(FILES["toy.test"][:-1])
    said = prepare_dataset(run_script.fails, adult_like(), [RECEIPT])
    assert f"delete {RECEIPT} and run again" in said
    assert sha256(FILES["toy.test"]) in said


def test_what_was_trusted_on_first_use_is_checked_again(prepare_dataset, run_script):
    """Same size, other bytes: only the record can tell."""
    line = b"39, State-gov, 77516, Bachelors, 13, Divorced, Sales, Husband, White, Male, 2174, 0, 40, Cuba, >50K\n"
    files = {"adult.data": line * 2, "adult.test": line}
    trusting = adult_like(
        files=files,
        target={"column": "income", "positive": ">50K", "negative": "<=50K"},
        ranges={"age": [17, 100]},
        data_dependent=[],
    )
    for what in trusting["files"].values():
        what["sha256"] = TRUST
    Path(FOLDER).mkdir(parents=True)
    for name, data in files.items():
        Path(FOLDER, name).write_bytes(data)
    assert f"{TRUSTED} holds no checksum of adult.data" in prepare_dataset(run_script.fails, trusting, [RECEIPT])
    Path(TRUSTED).parent.mkdir(parents=True)
    Path(TRUSTED).write_text(json.dumps({name: sha256(data) for name, data in files.items()}))
    prepare_dataset(run_script, trusting, [RECEIPT])
    before = Path(OUT).read_bytes()
    Path(FOLDER, "adult.data").write_bytes(line.replace(b"39", b"93") * 2)
    with pytest.raises(SystemExit):
        prepare_dataset(run_script, trusting, [RECEIPT])
    assert sha256(files["adult.data"]) in run_script.log
    assert Path(OUT).read_bytes() == before


def test_a_failure_keeps_what_was_prepared_before(prepare_dataset, run_script):
    Path("people.csv").write_text(CSV)
    prepare_dataset(run_script, PEOPLE, ["people.csv"])
    before = Path(OUT).read_bytes()
    Path("people.csv").write_text(CSV.replace("200", "201"))
    with pytest.raises(SystemExit):
        prepare_dataset(run_script, PEOPLE, ["people.csv"])
    assert Path(OUT).read_bytes() == before
