"""The sets of the catalogue, as they really are."""

import gzip
import hashlib
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression

from dperm.errors import CorruptFile, DataError, DataUnavailable
from dperm_pipeline.datasets import adult, catalogue, fetch, overlap, prepare, prepared, scaling, synthetic

ENTRIES = catalogue.load(Path(__file__).parents[3] / "config/datasets.yaml")
BUNDLED = ["breast-cancer", "digits", "diabetes"]


@pytest.fixture(scope="module")
def adult_folder(mirror, tmp_path_factory):
    folder = tmp_path_factory.mktemp("downloads") / "adult"
    fetch.fetch(ENTRIES["adult"] | {"sources": []}, folder, mirror=mirror)
    return folder


@pytest.fixture(scope="module")
def census(adult_folder):
    return prepare.prepare(ENTRIES["adult"], adult_folder)


def test_complete_cases_of_adult(census):
    """The counts that adult.names and li2021 print: 22,654 + 7,508 to train on, 11,360 + 3,700 to test on."""
    counts = Counter(f"{split} {y:+.0f}" for split, y in zip(census.split, census.y, strict=True))
    assert counts == {"train -1": 22654, "train +1": 7508, "test -1": 11360, "test +1": 3700}
    assert census.X.shape == (45222, 6 + 99 + 1)


def test_the_codebook_is_the_one_of_adult_names(mirror):
    """Parsed from UCI's own description, if the mirror has it."""
    path = mirror / "adult" / "adult.names"
    if not path.is_file():
        pytest.skip(f"{path} is not there; adult.zip of UCI holds it")
    lines = [line.split(":") for line in path.read_text().splitlines() if ":" in line and not line.startswith("|")]
    described = {name: values.strip().removesuffix(".").split(", ") for name, values in lines}
    assert tuple(described) == adult.COLUMNS[:-1]
    assert {name: list(levels) for name, levels in adult.LEVELS.items()} == {
        name: values for name, values in described.items() if values != ["continuous"]
    }
    assert sum(map(len, adult.LEVELS.values())) == 99


def test_adult_against_a_plain_reading_by_pandas(census, adult_folder):
    import pandas as pd

    frames = [
        pd.read_csv(adult_folder / name, names=adult.COLUMNS, skipinitialspace=True, na_values="?", skiprows=skip)
        for name, skip in (("adult.data", 0), ("adult.test", 1))
    ]
    frame = pd.concat(frames, ignore_index=True).dropna().reset_index(drop=True)
    assert len(frame) == len(census.y)
    np.testing.assert_array_equal(census.y, np.where(frame["income"].str.contains(">50K"), 1, -1))
    place = {name: j for j, name in enumerate(census.features)}
    np.testing.assert_allclose(census.X[:, place["age"]], (frame["age"] - 17) / 83)
    np.testing.assert_allclose(census.X[:, place["fnlwgt"]], np.minimum(frame["fnlwgt"] / 1e6, 1))
    for factor in adult.LEVELS:
        for level in adult.LEVELS[factor]:
            np.testing.assert_array_equal(census.X[:, place[f"{factor}={level}"]], frame[factor] == level)


@pytest.mark.parametrize("name", ["adult", *BUNDLED])
def test_every_row_is_within_the_stated_bound(name, request):
    data = request.getfixturevalue("census") if name == "adult" else prepare.prepare(ENTRIES[name])
    assert data.bounds.x_norm**2 == pytest.approx(ENTRIES[name]["x_norm_squared"], rel=1e-15)
    assert np.linalg.norm(data.X, axis=1).max() <= data.bounds.x_norm
    assert (data.X[:, data.features.index("(constant)")] == 1).all()
    assert data.X.min() >= 0 and data.X.max() <= 1
    assert np.abs(data.y).max() <= data.bounds.y_bound == 1


@pytest.mark.slow
def test_lasso_logistic_regression_on_adult_errs_as_published(census):
    """15.2 % +- 0.2 of the test rows without privacy: the encoding keeps what the data can tell."""
    from sklearn.linear_model import LogisticRegression

    train = census.split == "train"
    lasso = LogisticRegression(l1_ratio=1.0, C=0.1, solver="liblinear", fit_intercept=False, max_iter=200)
    lasso.fit(census.X[train], census.y[train])
    # It is a lasso, whatever the release of scikit-learn makes of the arguments.
    assert (lasso.coef_ == 0).sum() > 50
    assert 100 * (1 - lasso.score(census.X[~train], census.y[~train])) == pytest.approx(15.2, abs=0.2)


def test_the_prepared_adult_comes_back(census, tmp_path):
    for name in ("a", "b"):
        prepared.write(census, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    back = prepared.read(tmp_path / "a")
    np.testing.assert_array_equal(back.X, census.X)
    assert back.provenance["files"] == {name: file["sha256"] for name, file in ENTRIES["adult"]["files"].items()}
    assert back.provenance["data_dependent"] == []


def test_a_damaged_download_is_refused_when_it_is_prepared(adult_folder, tmp_path):
    for path in adult_folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    content = (tmp_path / "adult.data").read_bytes()
    (tmp_path / "adult.data").write_bytes(content[: len(content) // 2])
    with pytest.raises(CorruptFile, match=r"adult\.data has 1987152 bytes .*fetch it again"):
        prepare.prepare(ENTRIES["adult"], tmp_path)
    (tmp_path / "adult.data").unlink()
    with pytest.raises(DataUnavailable, match=r"there is no file .*adult\.data; fetch it again .*delete .*\.json"):
        prepare.prepare(ENTRIES["adult"], tmp_path)
    with pytest.raises(DataUnavailable, match="fetch it first"):
        prepare.prepare(ENTRIES["adult"])


def test_the_numeric_slice_is_enough(census, adult_folder, tmp_path):
    prepared.write(census, tmp_path / "whole")
    prepared.write(prepare.prepare(catalogue.numeric(ENTRIES["adult"]), adult_folder), tmp_path / "slice")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "slice").read_bytes()


LINE = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, Cuba, "
)


def small_adult(folder, train, test, **changes):
    """Prepare an Adult of a few lines, the checksums adjusted to them."""
    from dperm_pipeline.datasets.checksums import sha256

    entry = {key: value for key, value in ENTRIES["adult"].items() if key not in ("rows", "positive_rows")} | changes
    entry["files"] = {}
    for name, text in (("adult.data", train), ("adult.test", test)):
        size = (folder / name).write_text(text)
        entry["files"][name] = {"bytes": size, "sha256": sha256(folder / name)}
    return prepare.prepare(entry, folder)


def test_the_traps_of_the_raw_files(tmp_path):
    train = LINE + "<=50K\n" + LINE.replace("State-gov", "?") + ">50K\n\n"
    data = small_adult(tmp_path, train, "|1x3 Cross validator\n" + LINE + ">50K.\n" + LINE + "<=50K.\n\n")
    np.testing.assert_array_equal(data.split, ["train", "test", "test"])
    np.testing.assert_array_equal(data.y, [-1, 1, -1])
    assert data.X.sum() == pytest.approx(3 * (9 + 22 / 83 + 0.077516 + 12 / 15 + 2174 / 99999 + 40 / 99))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("State-gov", "Star-gov", "column 'workclass'"),
        ("Cuba", "cuba", "column 'native-country'"),
        ("39", "thirty", "column 'age'"),
        ("39, ", "", "adult.data, line 2: 14 fields instead of 15"),
        ("39, ", "39, 39, ", "line 2: 16 fields"),
        ("<=50K", "50K", "column 'income'"),
    ],
)
def test_a_record_outside_the_codebook(tmp_path, old, new, words):
    good = LINE + "<=50K\n"
    with pytest.raises(DataError) as error:
        small_adult(tmp_path, good + good.replace(old, new), good)
    assert words in str(error.value)


def test_one_record_too_few(tmp_path):
    good = LINE + "<=50K\n"
    with pytest.raises(DataError, match="1 complete test records instead of the 2"):
        small_adult(tmp_path, good, good, rows={"train": 1, "test": 2})


def test_the_mark_of_a_step_that_looked_at_the_data_reaches_the_prepared_file(tmp_path):
    for name in BUNDLED:
        data = prepare.prepare(ENTRIES[name])
        prepared.write(data, tmp_path / name)
        back = prepared.read(tmp_path / name)
        assert back.provenance["data_dependent"] == ENTRIES[name]["data_dependent"]
        assert back.provenance["versions"]["scikit-learn"]
    assert ENTRIES["breast-cancer"]["data_dependent"]


def test_breast_cancer_ranges_are_the_ones_of_the_description():
    """The mark says whose ranges they are: scikit-learn's own table, not numbers of ours."""
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    table = [line.rsplit(None, 2) for line in bunch.DESCR.splitlines() if line.rstrip().endswith(tuple("0123456789"))]
    table = [row for row in table if len(row) == 3 and row[0].strip().endswith("):")]
    published = [[float(low), float(high)] for _, low, high in table]
    assert list(ENTRIES["breast-cancer"]["ranges"]) == list(bunch.feature_names)
    assert list(ENTRIES["breast-cancer"]["ranges"].values()) == published


def test_bundled_sets_against_scikit_learn():
    from sklearn import datasets

    digits = prepare.prepare(ENTRIES["digits"])
    bunch = datasets.load_digits()
    np.testing.assert_array_equal(digits.X[:, :-1], bunch.data / 16)
    np.testing.assert_array_equal(digits.y, np.where(bunch.target >= 5, 1, -1))
    cancer = prepare.prepare(ENTRIES["breast-cancer"])
    assert (cancer.y == 1).sum() == 212  # malignant
    diabetes = prepare.prepare(ENTRIES["diabetes"])
    bunch = datasets.load_diabetes(scaled=False)
    np.testing.assert_allclose(diabetes.y, bunch.target / 200 - 1, rtol=1e-14)
    low, high = np.array(list(ENTRIES["diabetes"]["ranges"].values())).T
    np.testing.assert_allclose(diabetes.X[:, :-1], (bunch.data - low) / (high - low), rtol=1e-14)


def test_the_hadamard_set_is_the_nice_data_of_the_paper():
    """X'X = n I with entries +-1, a constant in it; labels of the logistic model, as its maximum likelihood finds."""
    data = prepare.prepare(ENTRIES["hadamard"])
    assert set(np.unique(data.X)) == {-1.0, 1.0} and set(data.y) == {-1.0, 1.0}
    np.testing.assert_array_equal(data.X.T @ data.X, 4096 * np.eye(16))
    assert data.bounds.x_norm == 4 and (np.linalg.norm(data.X, axis=1) == 4).all()
    assert data.provenance["data_dependent"] == [] and data.features[-1] == "(constant)"
    fit = optimize.minimize(lambda theta: np.logaddexp(0, -data.y * (data.X @ theta)).sum(), np.zeros(16)).x
    # theta* is +-1/2; its Fisher information is at least n times the mean of s(1 - s) over rows, about 0.15 n.
    np.testing.assert_allclose(np.abs(fit), 0.5, atol=5 / np.sqrt(0.13 * 4096))
    np.testing.assert_array_equal(prepare.prepare(ENTRIES["hadamard"]).y, data.y)


@pytest.fixture(scope="module")
def mirror_only(mirror, tmp_path_factory):
    """The sets that no address has, prepared and read back; a mirror need not hold them."""
    folder, found = tmp_path_factory.mktemp("mirror-only"), {}
    for name in ("covertype-16pct", "url-5700"):
        if reason := fetch.unavailable(ENTRIES[name], mirror):
            pytest.skip(reason)
        fetch.fetch(ENTRIES[name], folder / name, mirror=mirror)
        prepared.write(prepare.prepare(ENTRIES[name], folder / name), folder / f"{name}.parquet")
        start = time.perf_counter()
        found[name] = prepared.read(folder / f"{name}.parquet"), time.perf_counter() - start
    return folder, found


@pytest.mark.slow
def test_the_subsample_of_covertype(mirror_only):
    folder, found = mirror_only
    data, seconds = found["covertype-16pct"]
    assert (data.y > 0).sum() == 45328 and (data.y < 0).sum() == 47634 and data.X.shape == (92962, 54)
    assert seconds < 1
    table = np.loadtxt(folder / "covertype-16pct" / "covtype_sample92962.data", delimiter=",", max_rows=2000)
    ranges = np.array(list(ENTRIES["covertype-16pct"]["ranges"].values()), dtype=float)
    # No value of the set is clipped: min-max values give the raw numbers back.
    raw = scaling.rescale(data, "min-max").X[:2000].toarray()
    np.testing.assert_allclose(raw[:, :10] * np.diff(ranges).ravel() + ranges[:, 0], table[:, :10], atol=1e-6)
    np.testing.assert_array_equal(raw[:, 10:], table[:, 10:54])
    assert not overlap.overlapping(data.X[:40000], data.X[40000:]).any()


@pytest.mark.slow
def test_all_of_covertype_has_four_sources_and_one_checksum(mirror, tmp_path):
    """The mirror's file is unpacked, checked by SHA-256 and prepared; no address of a package index is given."""
    entry = ENTRIES["covertype"]
    if reason := fetch.unavailable(entry | {"sources": []}, mirror):
        pytest.skip(reason)
    fetch.fetch(entry | {"sources": []}, tmp_path / "covertype", mirror=mirror)
    unpacked = (tmp_path / "covertype" / "covtype.data").read_bytes()
    assert hashlib.sha256(unpacked).hexdigest() == entry["files"]["covtype.data"]["sha256"]
    data = prepare.prepare(entry, tmp_path / "covertype")
    assert data.X.shape == (581012, 54) and (data.y > 0).sum() == 283301
    addresses, packages = entry["sources"][:3], entry["sources"][3:]
    assert all(address.startswith("https://") for source in addresses for address in source)
    assert [source["package"] for source in packages] == ["scikit-multiflow"]
    assert not any(isinstance(value, str) and "://" in value for source in packages for value in source.values())


def test_covertype_like_is_like_covertype(mirror_only):
    """Logistic regression does as well on the generator as on the real cells, within two points."""
    real, like = mirror_only[1]["covertype-16pct"][0], synthetic.covertype_like(20000, 8)
    order = np.random.default_rng(0).permutation(len(real.y))[:20000]
    scores = []
    for X, y in ((real.X[order], real.y[order]), (like.X, like.y)):
        scores.append(LogisticRegression(C=10, max_iter=300).fit(X[:15000], y[:15000]).score(X[15000:], y[15000:]))
    assert abs(scores[0] - scores[1]) < 0.03, scores


def test_the_rows_of_url_reputation(mirror_only):
    folder, found = mirror_only
    data, seconds = found["url-5700"]
    assert (data.y > 0).sum() == 2267 and data.X.shape == (5700, 3231961)
    assert seconds < 1
    X, y = load_svmlight_file(
        str(folder / "url-5700" / "url_sample_distinct.svm"), n_features=3231961, zero_based=False
    )
    np.testing.assert_array_equal(data.y, y)
    X = X / np.sqrt(X.multiply(X).sum(axis=1))
    assert abs(data.X - X).max() < 1e-15
    assert len(np.unique(overlap.hashes(data.X))) == 5700


def test_light_modules_load_nothing_heavy():
    """The workflow imports `fetch` and `prepare` in every job; the parsers and the network come when they are used."""
    code = "import sys; from dperm_pipeline.datasets import fetch, prepare; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"sklearn", "pooch", "requests", "pandas", "numpy", "pyarrow"} & set(loaded)


def test_a_gzipped_mirror_serves(adult_folder, tmp_path):
    (tmp_path / "mirror").mkdir()
    for path in adult_folder.iterdir():
        (tmp_path / "mirror" / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), 1))
    fetch.fetch(ENTRIES["adult"] | {"sources": []}, tmp_path / "adult", mirror=tmp_path / "mirror")
    for path in adult_folder.iterdir():
        assert (tmp_path / "adult" / path.name).read_bytes() == path.read_bytes()
