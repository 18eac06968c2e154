"""Covertype's lines, its scalings, and the generators that look like Covertype and KDD."""

import gzip
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.linear_model import LogisticRegression, Ridge

from dperm.errors import ConfigError, CorruptFile, DataError
from dperm_pipeline.datasets import catalogue, covertype, encode, prepare, prepared, scaling, synthetic, terrain

ENTRIES = catalogue.load(Path(__file__).parents[3] / "config/datasets.yaml")
RNG = np.random.default_rng(5)


def cells(n):
    """Lines in the format of covtype.data, within the public ranges."""
    low, high = np.array(list(covertype.RANGES.values())).T
    numbers = RNG.integers(low, high, size=(n, 10), endpoint=True)
    areas, soils = np.eye(4, dtype=int)[RNG.integers(0, 4, n)], np.eye(40, dtype=int)[RNG.integers(0, 40, n)]
    return np.hstack([numbers, areas, soils, RNG.integers(1, 8, size=(n, 1))])


def text(table):
    return "".join(",".join(map(str, line)) + "\n" for line in table).encode()


def entry(file="c.data", **changes):
    kept = {
        key: value for key, value in ENTRIES["covertype"].items() if key not in ("rows", "positive_rows", "sources")
    }
    return kept | {"files": {file: {}}, **changes}


def encoded(tmp_path, content, file="c.data", **changes):
    (tmp_path / file).write_bytes(content)
    whole = entry(file, **changes)
    return encode.encode(covertype.parse(whole, tmp_path), whole, file, {})


def expected_rows(table, scale, unit):
    """The encoding, transcribed: numbers on their scale, indicators, each row over its length."""
    low, high = np.array([ENTRIES["covertype"]["ranges"][name] for name in covertype.NUMBERS], dtype=float).T
    m = (np.clip(table[:, :10], low, high) - low) / (high - low)
    raw = low + m * (high - low)
    numbers = {
        "unit": m, "symmetric": 2 * m - 1, "raw": raw, "z-score": (raw - raw.mean(axis=0)) / raw.std(axis=0)
    }[scale]  # fmt: skip
    rows = np.hstack([numbers, table[:, 10:54]])
    return rows / np.linalg.norm(rows, axis=1)[:, None] if unit else rows


@pytest.mark.parametrize("file", ["c.data", "c.data.gz"])
def test_the_encoding_against_its_transcription(tmp_path, file):
    table = cells(300)
    data = encoded(tmp_path, gzip.compress(text(table)) if file.endswith("gz") else text(table), file)
    np.testing.assert_allclose(data.X.toarray(), expected_rows(table, "unit", True), rtol=1e-14, atol=1e-16)
    np.testing.assert_array_equal(data.y, np.where(table[:, 54] == 2, 1.0, -1.0))
    assert data.bounds.x_norm == 1 and data.X.shape == (300, 54) and data.X.indices.dtype == np.int32
    assert data.features[:2] == ("elevation", "aspect") and data.features[10:15] == (
        "wilderness=1", "wilderness=2", "wilderness=3", "wilderness=4", "soil=1",
    )  # fmt: skip
    assert set(data.split) == {"train"} and data.provenance["data_dependent"] == []


@pytest.mark.parametrize("name", scaling.SCALINGS)
def test_every_scaling_comes_out_of_the_stored_one(tmp_path, name):
    """After a round trip through the file, against the raw table; and it is what the entry's own keys give."""
    table = cells(200)
    table[0, 0], table[1, 5] = 4700, 12000  # outside: they stay at the end of the range
    stored = encoded(tmp_path, text(table))
    prepared.write(stored, tmp_path / "c.parquet")
    scale, unit = scaling.SCALINGS[name]
    data = scaling.rescale(prepared.read(tmp_path / "c.parquet"), name)
    np.testing.assert_allclose(data.X.toarray(), expected_rows(table, scale, unit), rtol=1e-9, atol=1e-12)
    assert data.bounds.x_norm == (1.0 if unit else np.sqrt(12))
    assert bool(data.provenance["data_dependent"]) == (name == "z-score+unit")
    looks = {"data_dependent": ["the z-scores"]} if scale == "z-score" else {}
    direct = encoded(tmp_path, text(table), scale=scale, unit_rows=unit, **looks, x_norm_squared=1 if unit else 12)
    np.testing.assert_allclose(data.X.toarray(), direct.X.toarray(), rtol=1e-9, atol=1e-12)
    assert direct.bounds.x_norm == pytest.approx(data.bounds.x_norm)


def test_r_squared_of_the_cubic_kernel():
    """R^2 = 8 for rows of length one, 2,197 = 13^3 for min-max alone: the numbers of the settings."""
    like = synthetic.covertype_like(200, 1)
    for name, r_squared in (("min-max+unit", 8), ("min-max", 2197)):
        data = scaling.rescale(like, name)
        assert (data.bounds.x_norm**2 + 1) ** 3 == pytest.approx(r_squared)
        assert ((data.X.multiply(data.X).sum(axis=1) + 1) ** 3).max() <= r_squared * (1 + 1e-12)


def test_a_set_without_the_stored_scaling_is_refused():
    with pytest.raises(ValueError, match=r"scaling='min_max' must be one of min-max.unit"):
        scaling.rescale(synthetic.covertype_like(5, 0), "min_max")
    for other in (synthetic.kdd_like(5, 0, d=500), scaling.rescale(synthetic.covertype_like(5, 0), "min-max")):
        with pytest.raises(ValueError, match="holds no other scaling"):
            scaling.rescale(other, "raw+unit")


def test_z_scores_are_refused_in_the_catalogue():
    """Every mechanism would state its guarantee on such a set."""
    with pytest.raises(ConfigError, match="scale: z-score takes mean and deviation of all records, so no guarantee"):
        catalogue.check(entry(scale="z-score", unit_rows=True, data_dependent=["z"]))


def line(**changes):
    fields = [3000, 51, 3, 258, 0, 510, 221, 232, 148, 6279, *[1, 0, 0, 0], *[0] * 39, 1, 5]
    for place, value in changes.items():
        fields[int(place.removeprefix("at"))] = value
    return ",".join(map(str, fields))


BAD = {
    "few-fields": (line().rsplit(",", 1)[0], "line 2: 54 fields instead of 55"),
    "many-fields": (line() + ",1", "line 2: 56 fields instead of 55"),
    "text": (line(at3="x777"), "line 2 is no line of whole numbers"),
    "empty": (line(at3=""), "line 2 is no line of whole numbers"),
    "fraction": (line(at3="777.5"), "line 2 is no line of whole numbers"),
    "two-areas": (line(at11=1), "line 2: not exactly one of the 4 wilderness"),
    "no-soil": (line(at53=0), "line 2: not exactly one of the 40 soil"),
    "half-and-half": (line(at11=-1, at12=1), "line 2: not exactly one of the 4 wilderness"),
}


@pytest.mark.parametrize(("bad", "words"), BAD.values(), ids=BAD)
def test_a_malformed_line(tmp_path, bad, words):
    with pytest.raises(DataError) as error:
        encoded(tmp_path, f"{line()}\n{bad}\n{line()}\n".encode())
    assert words in str(error.value) and "c.data" in str(error.value) and "777" not in str(error.value)


def test_an_unknown_cover_type(tmp_path):
    with pytest.raises(DataError, match=r"column 'cover'.* 1 of 2 records hold a value outside the declared ones"):
        encoded(tmp_path, f"{line()}\n{line(at54=8)}\n".encode())


def test_a_cut_file(tmp_path):
    packed = gzip.compress(text(cells(500)))
    with pytest.raises((CorruptFile, DataError), match="fetch it again"):
        encoded(tmp_path, packed[: len(packed) // 2], "c.data.gz")


def test_the_catalogue_encodes_the_three_alike():
    same = ("ranges", "outside", "unit_rows", "constant", "sparse", "x_norm_squared", "task", "data_dependent")
    for name in ("covertype-16pct", "covertype-like"):
        assert {key: ENTRIES[name][key] for key in same} == {key: ENTRIES["covertype"][key] for key in same}
    assert {
        name: tuple(map(float, limits)) for name, limits in ENTRIES["covertype"]["ranges"].items()
    } == terrain.LIMITS


@pytest.mark.parametrize("name", ["covertype-like", "kdd-like"])
def test_a_generator_and_its_entry_are_one_data_set(name):
    found = prepare.prepare(ENTRIES[name])
    size, seed = ENTRIES[name]["sample"]["train"], ENTRIES[name]["sample"]["seed"]
    made = {"covertype-like": synthetic.covertype_like, "kdd-like": synthetic.kdd_like}[name](size, seed)
    assert (found.X != made.X).nnz == 0 and (found.y == made.y).all()
    assert made.name == found.name == name and made.bounds == found.bounds and made.task == found.task
    assert made.provenance == found.provenance


def test_frozen_generators():
    """Their constants are frozen before any private fit: a change makes another data set."""
    cell = terrain.cells(20000, 2012)
    assert (cell["cover"] == 2).sum() == 9648
    assert [int(cell[name].sum()) for name in ("elevation", "horizontal-to-roads", "soil")] == [
        59095368,
        46986485,
        487277,
    ]
    data = synthetic.kdd_like(1000, 2012, d=5000)
    assert (int(data.y.sum()), int(data.X.indices.sum())) == (949, 26901274)


def test_cells_have_the_structure_of_covertype():
    n = 50000
    cell = terrain.cells(n, 3)
    numbers = {name: cell[name] for name in covertype.NUMBERS}
    for name, values in numbers.items():
        low, high = terrain.LIMITS[name]
        assert low <= values.min() and values.max() <= high and (values == np.rint(values)).all()
    # covtype.info's own table of means and standard deviations, of the whole set.
    published = {
        "elevation": (2959, 280), "aspect": (156, 112), "slope": (14.1, 7.5), "horizontal-to-water": (269, 213),
        "vertical-to-water": (46, 58), "horizontal-to-roads": (2350, 1559), "hillshade-9am": (212, 27),
        "hillshade-noon": (223, 20), "hillshade-3pm": (143, 38), "horizontal-to-fire": (1980, 1324),
    }  # fmt: skip
    for name, (mean, deviation) in published.items():
        assert numbers[name].mean() == pytest.approx(mean, rel=0.2) and numbers[name].std() == pytest.approx(
            deviation, rel=0.35
        )
    assert (cell["cover"] == 2).mean() == pytest.approx(0.488, abs=0.02)
    for k, share in enumerate((0.449, 0.051, 0.436, 0.064), start=1):
        here = cell["wilderness"] == k
        assert here.mean() == pytest.approx(share, abs=5 * np.sqrt(share / n))
    # Soil and area go together, numbers and soil too.
    table = np.zeros((4, 40))
    np.add.at(table, (cell["wilderness"] - 1, cell["soil"] - 1), 1)
    assert stats.contingency.association(table[:, table.sum(axis=0) > 0].astype(int)) > 0.5
    assert np.corrcoef(numbers["hillshade-9am"], numbers["aspect"])[0, 1] < -0.4


def test_cells_are_as_hard_to_classify_as_covertype():
    """Linear scores reach about 75 % (logistic regression on Covertype: 75.6 %), cubic terms in elevation add some."""
    data = scaling.rescale(synthetic.covertype_like(20000, 8), "min-max")
    X, y = data.X.tocsr(), data.y
    linear = LogisticRegression(C=10, max_iter=400).fit(X[:15000], y[:15000]).score(X[15000:], y[15000:])
    elevation = X[:, [0]].toarray() - 0.48
    wide = sp.hstack([X, sp.csr_array(np.hstack([elevation**2, elevation**3]) * 20)]).tocsr()
    cubic = LogisticRegression(C=10, max_iter=400).fit(wide[:15000], y[:15000]).score(wide[15000:], y[15000:])
    assert 0.73 < linear < 0.79 and cubic > linear


def test_streams_of_a_generator_are_its_own():
    one, again, other = (synthetic.covertype_like(500, seed) for seed in (1, 1, 2))
    assert (one.X != again.X).nnz == 0 and (one.X != other.X).nnz > 0
    for n in (0, -1, 2.5e9, "ten"):
        with pytest.raises(ValueError, match="n="):
            synthetic.covertype_like(n, 1)


def test_rows_of_kdd_like():
    data = synthetic.kdd_like(2000, 4, d=100_000)
    X = data.X
    assert X.shape == (2000, 100_000) and (np.diff(X.indptr) == 36).all() and X.has_canonical_format
    np.testing.assert_allclose(X.multiply(X).sum(axis=1), 1.0, rtol=1e-12)
    assert set(data.y) == {0.0, 1.0} and data.task == "regression" and data.bounds.y_bound == 1
    # Every factor takes one level: its block is hit once by each row; few levels common, most of them rare.
    sizes = synthetic.block_sizes(100_000)
    assert sizes.sum() == 100_000 and sizes.min() >= 2 and (np.diff(sizes) >= 0).all()
    ends = np.cumsum(sizes)
    blocks = np.searchsorted(ends, X.indices.reshape(2000, 36), side="right")
    assert (blocks == np.arange(36)).all()
    counts = np.bincount(X.indices[X.indices >= ends[-2]], minlength=100_000)[ends[-2] :]
    assert counts.max() > 100 and np.median(counts) == 0
    with pytest.raises(ValueError, match="d=359"):
        synthetic.kdd_like(10, 0, d=359)
    synthetic.kdd_like(10, 0, d=360)


def test_least_squares_beats_the_mean_on_kdd_like():
    """Out of sample, on rows of another seed: the signal can be learnt, and is one law for all seeds."""
    train, test = synthetic.kdd_like(4000, 1, d=200_000), synthetic.kdd_like(4000, 2, d=200_000)
    mean = np.square(test.y - train.y.mean()).mean()
    for total in (1.0, 10.0):
        fit = Ridge(alpha=total, fit_intercept=False, solver="sparse_cg", tol=1e-6).fit(train.X, train.y)
        assert np.square(test.y - fit.predict(test.X)).mean() < 0.95 * mean
    # No row of the second seed stands in the first.
    assert len({row.tobytes() for D in (train, test) for row in D.X.indices.reshape(-1, 36)}) == 8000
