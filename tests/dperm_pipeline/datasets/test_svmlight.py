"""Rows of SVMlight: read as others read them, sampled uniformly, in bounded memory; errors name lines, never values."""

import bz2
import gzip
import io
import subprocess
import sys
import tarfile

import numpy as np
import pytest
import together
from data_server import tarred
from scipy import stats
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from dperm.errors import ConfigError, CorruptFile, DataError
from dperm_pipeline.datasets import catalogue, prepare, svmlight

RNG = np.random.default_rng(11)
COLUMNS = 40


def entry(files=("rows.svm",), **changes):
    return {
        "name": "toy",
        "title": "toy",
        "task": "binary",
        "format": "svmlight",
        "files": {name: {} for name in files},
        "columns": COLUMNS,
        "target": {"column": "label", "positive": 1, "negative": -1},
        "ranges": {},
        "unit_rows": True,
        "sparse": True,
        "data_dependent": [],
        **changes,
    }


def lines(n, rng=RNG):
    """Sparse rows of many kinds of numbers, with labels of +-1."""
    X = np.where(rng.random((n, COLUMNS)) < 0.2, rng.standard_normal((n, COLUMNS)) * 10.0 ** rng.integers(-9, 9), 0.0)
    file = io.BytesIO()
    dump_svmlight_file(X, rng.choice([-1, 1], size=n), file, zero_based=False)
    return file.getvalue()


def parsed(tmp_path, content, name="rows.svm", **changes):
    (tmp_path / name).write_bytes(content)
    return svmlight.parse(entry((name,), **changes), tmp_path)


@pytest.mark.parametrize("block", [7, 100, 2**20])
@pytest.mark.parametrize(
    ("name", "pack"), [("rows.svm", bytes), ("rows.gz", gzip.compress), ("rows.bz2", bz2.compress)]
)
def test_as_scikit_learn_reads_it(tmp_path, monkeypatch, block, name, pack):
    """The same doubles, bit by bit, wherever a block of bytes ends."""
    monkeypatch.setattr(svmlight, "BLOCK", block)
    text = lines(60)
    raw = parsed(tmp_path, pack(text), name)
    X, y = load_svmlight_file(io.BytesIO(text), n_features=COLUMNS, zero_based=False)
    np.testing.assert_array_equal(raw.matrix.toarray(), X.toarray())
    np.testing.assert_array_equal(raw.columns["label"], y)
    assert set(raw.split) == {"train"}


NUMBERS = [
    "1",
    "-1",
    "+1",
    "0",
    "-0",
    "00012",
    "1.",
    ".5",
    "0.1",
    "-.25",
    "1e3",
    "1E-3",
    "1e+3",
    "1.5e22",
    "1e23",
    "123456789012345678",
    "9007199254740993",
    "0.1e-22",
    "1e-300",
    "4.9e-324",
    "1.7976931348623157e308",
    "2.2250738585072011e-308",
    "0.30000000000000004",
    "0.000000000000000000000000000012345678901",
    "99999999999999999999999999",
    "1e-400",
    "179769313486231570000000000000000000000000",
    "3.14159265358979323846264338327950288",
]


@pytest.mark.parametrize("text", NUMBERS)
def test_every_number_is_the_double_that_python_reads(tmp_path, text):
    raw = parsed(tmp_path, f"{text} 1:7 2:{text} 5:2\n".encode())
    assert raw.columns["label"].tolist() == [float(text)]
    assert raw.matrix.toarray()[0, [0, 1, 4]].tolist() == [7.0, float(text), 2.0]


def test_blank_lines_comments_and_line_ends(tmp_path):
    text = b"\n# a header\n+1 1:1 2:2 # 3:3\r\n\n   \t\n-1\n-1 # nothing\n  +1\t40:0.5  \n+1 3:0"
    raw = parsed(tmp_path, text)
    assert raw.columns["label"].tolist() == [1, -1, -1, 1, 1]
    dense = np.zeros((5, COLUMNS))
    dense[0, :2], dense[3, 39] = (1, 2), 0.5
    np.testing.assert_array_equal(raw.matrix.toarray(), dense)


WRONG = {
    "no-label": ("x 1:1", "does not begin with a number"),
    "label-is-a-pair": ("1:1 2:2", "does not begin with a number"),
    "label-nan": ("nan 1:1", "does not begin with a number"),
    "label-infinite": ("1e999 1:1", "does not begin with a number"),
    "no-colon": ("1 17", "not index:value"),
    "no-value": ("1 17: 2:3", "not index:value"),
    "no-index": ("1 :17", "not index:value"),
    "negative-index": ("1 -3:17", "not index:value"),
    "qid": ("1 qid:17 1:1", "not index:value"),
    "two-points": ("1 3:1.7.1", "not index:value"),
    "two-colons": ("1 3:17:1", "not index:value"),
    "exponent-cut": ("1 3:17e", "not index:value"),
    "infinite": ("1 3:1e17171", "not index:value"),
    "nan": ("1 3:nan", "not index:value"),
    "hexadecimal": ("1 3:0x17", "not index:value"),
    "underscore": ("1 3:1_717", "not index:value"),
    "carriage-return": ("1 3:17\r 4:1", "not index:value"),
    "zero-index": ("1 0:17", "outside 1..40"),
    "index-beyond": ("1 41:17", "outside 1..40"),
    "index-far-beyond": ("1 171717171717171717:17", "outside 1..40"),
    "index-without-end": ("1 " + "17" * 20 + ":17", "not index:value"),
    "not-ascending": ("1 4:17 3:1", "do not ascend"),
    "twice": ("1 4:17 4:1", "do not ascend"),
    "zero-byte": ("1 4:17\0", "not index:value"),
}


@pytest.mark.parametrize(("line", "words"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("before", [0, 3])
def test_a_malformed_line_is_named_by_its_number_and_not_by_its_values(tmp_path, monkeypatch, line, words, before):
    monkeypatch.setattr(svmlight, "BLOCK", 16)
    text = b"1 1:1\n\n" * before + line.encode() + b"\n1 1:1\n"
    for keep in ({}, {"sample": {"train": 1, "seed": 0}}):
        with pytest.raises(DataError) as error:
            parsed(tmp_path, text, **keep)
        assert f"toy: rows.svm, line {2 * before + 1} " in str(error.value) and words in str(error.value)
        assert "17" not in str(error.value)


def test_a_line_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(svmlight, "LONGEST_LINE", 1000)
    monkeypatch.setattr(svmlight, "BLOCK", 100)
    with pytest.raises(DataError, match="line 3 has more than 1000 bytes"):
        parsed(tmp_path, b"1 1:1\n1 1:1\n1 1:" + b"1" * 5000)


@pytest.mark.parametrize("cut", [0.3, 0.9, 0.999])
@pytest.mark.parametrize("name", ["rows.gz", "rows.bz2", "rows.tar.gz"])
def test_a_cut_file_says_what_to_do(tmp_path, name, cut):
    text = lines(400)
    whole = {"rows.gz": gzip.compress, "rows.bz2": bz2.compress, "rows.tar.gz": lambda t: tarred({"a/b.svm": t})}[name](
        text
    )
    with pytest.raises(CorruptFile, match=r"broken archive .*; delete .* and fetch it again"):
        parsed(tmp_path, whole[: int(cut * len(whole))], name)
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 255
    with pytest.raises((CorruptFile, DataError), match="fetch it again"):
        parsed(tmp_path, bytes(damaged), name)


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w"])
def test_the_members_of_a_tar_in_their_order(tmp_path, mode):
    one, two = lines(5), lines(7)
    files = {"u/FeatureTypes": b"1\n2\n", "u/Day1.svm": two, "u/Day0.svm": one}
    raw = parsed(tmp_path, tarred(files, mode), "u.tar")
    X, y = load_svmlight_file(io.BytesIO(two + one), n_features=COLUMNS, zero_based=False)
    np.testing.assert_array_equal(raw.matrix.toarray(), X.toarray())
    np.testing.assert_array_equal(raw.columns["label"], y)
    with pytest.raises(DataError, match=r"u.tar/Day1.svm, line 2 "):
        parsed(tmp_path, tarred({"Day0.svm": one, "Day1.svm": b"1 1:1\nx\n"}, mode), "u.tar")
    with pytest.raises(CorruptFile, match=r"no file \*\.svm"):
        parsed(tmp_path, tarred({"Day0.txt": one}, mode), "u.tar")


def test_a_hostile_tar_is_refused(tmp_path):
    for name in ("../Day0.svm", "/Day0.svm"):
        with pytest.raises(CorruptFile, match="unsafe path"):
            parsed(tmp_path, tarred({name: lines(2)}), "u.tar.gz")
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as archive:
        link = tarfile.TarInfo("Day0.svm")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with pytest.raises(CorruptFile, match="a link or a device"):
        parsed(tmp_path, target.getvalue(), "u.tar.gz")


def numbered(n):
    """Row i holds i + 1 at index i + 1."""
    return "".join(f"1 {i + 1}:{i + 1}\n" for i in range(n)).encode()


def test_a_sample_is_uniform(tmp_path):
    """Each row equally often, by chi-square over 2,000 seeds; and each pair of rows as often as without replacement."""
    n, k, seeds = 30, 6, 2000
    (tmp_path / "rows.svm").write_bytes(numbered(n))
    taken = np.zeros((seeds, n))
    for seed in range(seeds):
        raw = svmlight.parse(entry(sample={"train": k, "seed": seed}), tmp_path)
        rows, values = raw.matrix.indices, raw.matrix.data
        assert len(rows) == k and (np.diff(rows) > 0).all() and (values == rows + 1).all()
        taken[seed, rows] = 1
    # Without replacement a count varies less than a multinomial's, by (n - k)/(n - 1).
    counts = taken.sum(axis=0)
    expected = seeds * k / n
    statistic = ((counts - expected) ** 2).sum() / expected * (n - 1) / (n - k)
    assert stats.chi2(n - 1).sf(statistic) > 1e-4
    pairs = (taken.T @ taken)[np.triu_indices(n, 1)]
    share = k * (k - 1) / (n * (n - 1))
    assert abs(pairs - seeds * share).max() < 5 * np.sqrt(seeds * share)


def test_a_sample_does_not_depend_on_blocks_or_on_the_other_split(tmp_path, monkeypatch):
    (tmp_path / "a.svm").write_bytes(numbered(COLUMNS))
    (tmp_path / "b.svm").write_bytes(numbered(COLUMNS))
    files = ("a.svm", "b.svm")
    both = svmlight.parse(entry(files, sample={"train": 9, "test": 5, "seed": 4}), tmp_path)
    assert both.split.tolist() == ["train"] * 9 + ["test"] * 5
    monkeypatch.setattr(svmlight, "BLOCK", 10)
    again = svmlight.parse(entry(files, sample={"train": 9, "test": 7, "seed": 4}), tmp_path)
    np.testing.assert_array_equal(both.matrix[:9].toarray(), again.matrix[:9].toarray())
    other = svmlight.parse(entry(files, sample={"train": 9, "test": 5, "seed": 5}), tmp_path)
    assert (both.matrix != other.matrix).nnz > 0
    # Another stream for the second file, though it holds the same rows.
    assert both.matrix[:5].indices.tolist() != both.matrix[9:].indices.tolist()


def test_too_few_and_unexpected_rows(tmp_path):
    with pytest.raises(DataError, match=r"holds 5 rows; sample\.train asks for 6"):
        parsed(tmp_path, numbered(5), sample={"train": 6, "seed": 0})
    with pytest.raises(DataError, match=r"holds 5 rows instead of the 6 that source_rows\.train"):
        parsed(tmp_path, numbered(5), source_rows={"train": 6})
    with pytest.raises(DataError, match="holds 0 rows"):
        parsed(tmp_path, b"# nothing\n")


def splitmix64(word):
    """The finaliser, in Python's integers, from its published constants."""
    mask = 2**64 - 1
    word = (word + 0x9E3779B97F4A7C15) & mask
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & mask
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & mask
    return word ^ (word >> 31)


def test_public_hashing(tmp_path):
    assert splitmix64(0) == 0xE220A8397B1DCDAF  # the first output of seed 0
    text = lines(50)
    raw = parsed(tmp_path, text, hash_to=11)
    X, _ = load_svmlight_file(io.BytesIO(text), n_features=COLUMNS, zero_based=False)
    hashed = np.zeros((50, 11))
    for i, j in zip(*X.nonzero(), strict=True):
        hashed[i, splitmix64(int(j) + 1) % 11] += X[i, j]
    np.testing.assert_allclose(raw.matrix.toarray(), hashed, rtol=1e-12)


def test_prepared_rows_have_length_one_and_labels_of_the_range(tmp_path):
    (tmp_path / "rows.svm").write_bytes(b"0 1:3 2:4\n1 5:2\n0 # no features\n")
    whole = entry(
        task="regression", target={"column": "label", "positive": 1, "negative": [0, -1], "range": [0, 1]}, sparse=True
    )
    whole["files"] = {"rows.svm": {"bytes": 30, "sha256": "0" * 64}}
    with pytest.raises(CorruptFile):
        prepare.prepare(whole, tmp_path)
    found = prepare.checksums.sha256(tmp_path / "rows.svm")
    size = (tmp_path / "rows.svm").stat().st_size
    whole["files"] = {"rows.svm": {"at_most": size, "sha256": found}}
    data = prepare.prepare(whole, tmp_path)
    np.testing.assert_allclose(data.X.toarray()[:, [0, 1, 4]], [[0.6, 0.8, 0], [0, 0, 1], [0, 0, 0]])
    assert data.y.tolist() == [0, 1, 0] and data.task == "regression"
    assert data.bounds.x_norm == 1 and data.bounds.y_bound == 1 and data.X.indices.dtype == np.int32
    assert data.features == () and data.provenance["files"] == {"rows.svm": found}
    whole["files"]["rows.svm"]["at_most"] = size - 1
    with pytest.raises(CorruptFile, match=f"instead of at most {size - 1} bytes"):
        prepare.prepare(whole, tmp_path)


CONTRADICTIONS = {
    "no-unit-rows": ({"unit_rows": False}, "unit_rows: rows of svmlight have no public bound"),
    "ranges": ({"ranges": {"a": [0, 1]}}, "ranges: the columns of svmlight have no names"),
    "three-files": ({"files": {"a": {}, "b": {}, "c": {}}}, "files: svmlight reads one file"),
    "sample-of-no-file": ({"sample": {"train": 1, "test": 1, "seed": 0}}, r"sample\.test: there is no second file"),
    "on-request": ({"on_request": True}, "on_request: nothing is fetched without sources"),
}


@together.over("changes, words", CONTRADICTIONS.values())
def test_an_entry_that_contradicts_itself(changes, words):
    with pytest.raises(ConfigError, match=words):
        catalogue.check(entry(**changes))


MEASURE = """
import resource, sys
from pathlib import Path
from dperm_pipeline.datasets import svmlight
entry = {"name": "big", "files": {sys.argv[2]: {}}, "columns": 3_000_000, "hash_to": 2_000_000,
         "sample": {"train": 500, "seed": 1}, "target": {"column": "label"}}
warm = {**entry, "files": {"warm.svm": {}}}
svmlight.parse(warm, Path(sys.argv[1]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
raw = svmlight.parse(entry, Path(sys.argv[1]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, raw.matrix.shape[0])
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path):
    """80 MB of rows; reading them may take a quarter of that beyond what reading a thousand rows took."""
    block = "".join(
        "1 " + " ".join(f"{index}:0.166667" for index in np.sort(RNG.choice(3_000_000, 36, replace=False)) + 1) + "\n"
        for _ in range(1000)
    ).encode()
    times = 80 * 2**20 // len(block)
    (tmp_path / "warm.svm").write_bytes(block)
    with gzip.open(tmp_path / "rows.gz", "wb", compresslevel=1) as file:
        for _ in range(times):
            file.write(block)
    ran = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path), "rows.gz"], check=True, capture_output=True, text=True
    )
    more, rows = map(int, ran.stdout.split())
    assert rows == 500
    assert more < 20 * 1024, f"{more} kB"
