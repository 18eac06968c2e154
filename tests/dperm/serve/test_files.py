"""Model files: what goes in comes out, and what is hostile or damaged is one clear error."""

import hashlib
import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
import served
import together
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer

from dperm import OutputPerturbation, PublicEncoder, SoftMajority
from dperm.errors import CorruptFile, DpermError
from dperm.serve import allowed, files, pack
from dperm.serve.service import Service


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return served.packed(tmp_path_factory.mktemp("models"), base=LogisticRegression(C=0.5)).read_bytes()


def parts(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members, **how):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **how) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def npy(array, **how):
    file = io.BytesIO()
    np.save(file, array, **how)
    return file.getvalue()


def private(**arrays):
    X, y = served.records()
    return zipped(
        {
            f"{name}.npy": npy(array, allow_pickle=True)
            for name, array in {"X": X, "y": y, "salt": np.zeros(32, np.uint8), **arrays}.items()
        }
    )


def signed(good, content=None, **changes):
    """A file with right sums around something wrong, as whoever means harm would make it."""
    held = parts(good)
    content = held["private.npz"] if content is None else content
    public = json.loads(held["model.json"]) | changes
    public["sha256"] = {"private.npz": hashlib.sha256(content).hexdigest()}
    public["whole"] = whole(public)
    return zipped({"model.json": json.dumps(public), "private.npz": content})


def whole(public):
    """As docs/model-files.md says it."""
    rest = {key: value for key, value in public.items() if key != "whole"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def header(array_bytes, **changes):
    """Another header before the same bytes."""
    given = {"descr": "<f8", "fortran_order": False, "shape": (600, 2), **changes}
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, given)
    return file.getvalue() + array_bytes


X, Y = served.records()
HOSTILE = {
    "nothing": lambda good: b"",
    "no zip": lambda good: b"PK\x03\x04" + bytes(100),
    "cut off": lambda good: good[: len(good) // 2],
    "another file": lambda good: zipped(parts(good) | {"../../etc/cron.d/x": b"* * * * * root sh"}),
    "a path": lambda good: zipped({f"/tmp/{name}": content for name, content in parts(good).items()}),
    "twice": lambda good: doubled(good),
    "compressed": lambda good: zipped(parts(good), compression=zipfile.ZIP_DEFLATED),
    "a bomb": lambda good: zipped(parts(good) | {"private.npz": bytes(10**7)}, compression=zipfile.ZIP_DEFLATED),
    "no JSON": lambda good: zipped(parts(good) | {"model.json": b"{"}),
    "deep JSON": lambda good: zipped(parts(good) | {"model.json": b"[" * 10**6}),
    "NaN": lambda good: zipped(parts(good) | {"model.json": b'{"format": NaN}'}),
    "large JSON": lambda good: zipped(parts(good) | {"model.json": b" " * (5 << 20)}),
    "edited": lambda good: zipped(
        parts(good) | {"model.json": parts(good)["model.json"].replace(b'"epsilon": 4.0', b'"epsilon": 9.0')}
    ),
    "other records": lambda good: zipped(parts(good) | {"private.npz": private(X=X + 1)}),
    "other format": lambda good: signed(good, format="dperm model, version 2"),
    "more words": lambda good: signed(good, extra=1),
    "another class": lambda good: signed(good, estimator="OutputPerturbation"),
    "a class of Python's": lambda good: signed(good, estimator="os.system"),
    "a class that is a list": lambda good: signed(good, estimator=["SoftMajority"]),
    "another learner": lambda good: changed(good, base={"class": "Pipeline", "parameters": {}}),
    "a loud learner": lambda good: changed(good, base={"class": "LogisticRegression", "parameters": {"verbose": 1}}),
    "many processes": lambda good: changed(good, base={"class": "SGDClassifier", "parameters": {"n_jobs": 64}}),
    "a learner that is a text": lambda good: changed(good, base="sklearn.linear_model.LogisticRegression"),
    "an unknown parameter": lambda good: changed(good, hidden=1),
    "another ledger": lambda good: changed(good, state="/tmp/other"),
    "a seed": lambda good: changed(good, random_state=0),
    "parameters that are a list": lambda good: signed(good, parameters=[1]),
    "columns": lambda good: signed(good, columns=["x0"]),
    "a card that is none": lambda good: signed(good, card=[]),
    "a schema that is a path": lambda good: signed(
        good, encoder={"schema": "/etc/passwd", "constant": True, "rows": "length", "x_norm": 1.0}
    ),
    "a schema of other columns": lambda good: signed(
        good, encoder={"schema": {"a": {"range": [0, 1]}}, "constant": True, "rows": "length", "x_norm": 1.0}
    ),
    "an encoder that is none": lambda good: signed(good, encoder={"schema": {}}),
    "objects": lambda good: signed(good, private(X=np.array([[{}, 1]] * 600, dtype=object))),
    "pickled targets": lambda good: signed(good, private(y=np.array([print] * 600, dtype=object))),
    "words for numbers": lambda good: signed(good, private(X=X.astype(str))),
    "a field": lambda good: signed(good, private(y=np.zeros(600, dtype=[("a", "f8")]))),
    "fewer targets": lambda good: signed(good, private(y=Y[:-1])),
    "a cube": lambda good: signed(good, private(X=X[:, :, None])),
    "complex": lambda good: signed(good, private(y=np.zeros(600, dtype=complex))),
    "one array more": lambda good: signed(good, private(z=Y)),
    "a shape as large as the world": lambda good: signed(good, lying(shape=(10**15, 10**15))),
    "a negative shape": lambda good: signed(good, lying(shape=(-600, -2))),
    "another order": lambda good: signed(good, lying(fortran_order=True)),
    "a header that is code": lambda good: signed(
        good,
        zipped(
            {
                "X.npy": npy(X)[:10] + b"__import__('os').system('false')".ljust(118),
                "y.npy": npy(Y),
                "salt.npy": npy(np.zeros(32, np.uint8)),
            }
        ),
    ),
    "characters that are none": lambda good: signed(
        good,
        zipped(
            {
                "X.npy": npy(X),
                "y.npy": header(b"\xff" * 600 * 4, descr="<U1", shape=(600,)),
                "salt.npy": npy(np.zeros(32, np.uint8)),
            }
        ),
    ),
}


def doubled(good):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive, pytest.warns(UserWarning, match="Duplicate"):
        for name in ("model.json", "private.npz", "model.json"):
            archive.writestr(name, parts(good)[name])
    return file.getvalue()


def changed(good, **parameters):
    return signed(good, parameters=json.loads(parts(good)["model.json"])["parameters"] | parameters)


def lying(**changes):
    return zipped({"X.npy": header(X.tobytes(), **changes), "y.npy": npy(Y), "salt.npy": npy(np.zeros(32, np.uint8))})


@together.over("what", HOSTILE)
def test_a_hostile_file_is_one_error(good, tmp_path, what):
    file = tmp_path / "model.dperm"
    file.write_bytes(HOSTILE[what](good))
    with pytest.raises(CorruptFile, match=r"model\.dperm is no model file of dperm: \w"):
        files.load(file)


def test_the_same_means_make_a_file_that_loads(good, tmp_path):
    """So each of the files above fails for what is wrong with it alone."""
    file = tmp_path / "model.dperm"
    for content in (good, signed(good), signed(good, private()), signed(good, lying()), changed(good, alpha=0.2)):
        file.write_bytes(content)
        files.load(file)


REFUSED = {
    "a record could make it fail": {"clip": False},
    "no proof": {"calibration": "paper"},
    "labels from the data": {"classes": None},
    "no number": {"alpha": "much"},
    "no such mode": {"mode": ["each"]},
    "labels that are none": {"classes": [["no"], ["yes"]]},
    "an impossible learner": {"base": {"class": "LogisticRegression", "parameters": {"C": -1.0}}},
}


@pytest.mark.filterwarnings("ignore::dperm.errors.NoGuaranteeWarning", "ignore::dperm.errors.PrivacyLeakWarning")
@together.over("what", REFUSED)
def test_what_would_not_be_packed_is_not_served(good, tmp_path, what):
    """Before, a file that was written by hand was served without any guarantee, or failed in a turn."""
    (tmp_path / "m").write_bytes(changed(good, **REFUSED[what]))
    with pytest.raises(CorruptFile, match=r"holds what `dperm pack` would refuse: \w"):
        Service(files.load(tmp_path / "m"), tmp_path / what.replace(" ", "-"))


def test_a_model_that_is_released_is_not_served(tmp_path):
    held = served.packed(tmp_path, "StableERM").read_bytes()
    (tmp_path / "m").write_bytes(changed(held, answers="model"))
    for ledger, words in ((tmp_path / "ledger", "ValueError in `fit`"), (None, "is one released model")):
        with pytest.raises(CorruptFile, match=words):
            Service(files.load(tmp_path / "m"), ledger)


def test_a_damaged_byte_is_noticed(good, tmp_path):
    """A byte that says nothing, such as a date of the zip, may change; then what is loaded is the same."""
    file, rng = tmp_path / "model.dperm", np.random.default_rng(0)
    file.write_bytes(good)
    whole, refused = files.load(file), 0
    for at in rng.integers(len(good), size=300):
        file.write_bytes(good[:at] + bytes([good[at] ^ int(rng.integers(1, 256))]) + good[at + 1 :])
        try:
            found = files.load(file)
        except CorruptFile:
            refused += 1
        else:
            assert (found.X == whole.X).all() and (found.y == whole.y).all() and found.card == whole.card
    assert refused > 250


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(CorruptFile, match="cannot be read"):
        files.load(tmp_path / "none")


@together.over("name", served.SERVED)
def test_what_goes_in_comes_out(tmp_path, name):
    file = served.packed(tmp_path, name)
    found, X, y = files.load(file), *served.records()
    assert found.estimator.get_params() == served.estimator(name).get_params()
    assert (found.X == X).all() and (found.y == y).all() and found.columns == ("x0", "x1")
    assert found.card["epsilon"] == served.estimator(name).epsilon
    assert file.stat().st_mode & 0o777 == 0o600
    before = parts(file.read_bytes())
    again = parts(served.packed(tmp_path, name).read_bytes())
    held, other = parts(before["private.npz"]), parts(again["private.npz"])
    assert held["X.npy"] == other["X.npy"] and held["y.npy"] == other["y.npy"]
    # The salt is another one, and so is the checksum, which therefore tells nothing of the records.
    assert held["salt.npy"] != other["salt.npy"]
    first, second = (json.loads(one["model.json"]) for one in (before, again))
    assert first["sha256"] != second["sha256"]
    apart = {"sha256", "whole"}
    assert {k: v for k, v in first.items() if k not in apart} == {k: v for k, v in second.items() if k not in apart}
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".dperm"]


X, Y = served.records()
Y = (Y == "yes").astype(int)
TAKEN = {
    "objects": (X, Y.astype(object)), "nullable": (X, pd.Series(Y).astype("Int64")), "column": (X, Y[:, None]),
    "floats": (X, Y.astype(float)), "odd labels": (X, [None, 7, *Y[2:].tolist()]),
    "text": ([["SECRET", 1.0], *X[1:].tolist()], Y), "frame": (pd.DataFrame(X).astype(object).mask(X > 0.45), Y),
}  # fmt: skip


@together.over("how", TAKEN)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_records_of_any_type_are_served_as_they_are_fitted(tmp_path, how):
    """Before, labels that were objects became texts, none of them one of the classes, and rows quoted a record."""
    records, model = TAKEN[how], served.estimator(classes=(0, 1))
    pack(model, *records, tmp_path / "m")
    found, seen = files.load(tmp_path / "m"), []
    for one, given in ((found.estimator, (found.X, found.y)), (model, records)):
        fitted = one.set_params(random_state=0).fit(*given)
        seen.append(fitted.predict(np.linspace(-1, 1, 10).reshape(5, 2)))
    np.testing.assert_array_equal(*seen)
    odd = int(how == "odd labels")
    assert set(found.y.tolist()) == {0, 1} and (found.y[2 * odd :] == Y[2 * odd :]).all()


def test_sparse_rows_are_packed_where_they_are_fitted(tmp_path):
    pack(served.estimator("RKHSGaussian", classes=(0, 1)), sparse.coo_array(X), Y, tmp_path / "m")
    np.testing.assert_array_equal(files.load(tmp_path / "m").X, X)


def test_every_learner_on_the_list_comes_back_as_it_was():
    for kind in allowed.LEARNERS:
        base = allowed.made("SoftMajority", {"base": {"class": kind, "parameters": {}}}).base
        words = allowed.written(SoftMajority(base=base))["parameters"]["base"]
        assert words["class"] == kind == type(base).__name__
        assert allowed.made("SoftMajority", {"base": words}).base.get_params() == base.get_params()


def test_the_public_part_holds_no_record_and_records_come_with_their_schema(tmp_path):
    schema = {"age": {"range": [0, 100]}, "job": {"levels": ["a", "b", None]}}
    raw = np.array([[i % 100, "ab"[i % 2]] for i in range(300)], dtype=object)
    encoder = PublicEncoder(schema, clip=True).fit(raw)
    rows, y = encoder.transform(raw), [i % 100 > 50 for i in range(300)]
    pack(SoftMajority(classes=(False, True), clip=True, queries=5), rows, y, tmp_path / "m", encoder=encoder)
    found = files.load(tmp_path / "m")
    assert (found.encoder.transform(raw) == rows).all() and found.y.tolist() == y
    public = json.loads(parts((tmp_path / "m").read_bytes())["model.json"])
    assert public["encoder"]["schema"] == schema and public["private"] == ["private.npz"]
    # Nothing of it but the sums of the private part changes with the records.
    pack(SoftMajority(classes=(False, True), clip=True, queries=5), rows[::-1], y, tmp_path / "n", encoder=encoder)
    other = json.loads(parts((tmp_path / "n").read_bytes())["model.json"])
    assert {key for key in public if public[key] != other[key]} == {"sha256", "whole"}


@together.over(
    "model, words",
    [
        (OutputPerturbation(), "OutputPerturbation is not served"),
        (served.estimator(random_state=0), "random_state= is set"),
        (served.estimator(clip=False), "clip=True"),
        (served.estimator(calibration="paper"), "only what is proved is served"),
        (served.estimator("StableERM", answers="model"), "one released model"),
        (served.estimator(base=FunctionTransformer()), "FunctionTransformer is not served"),
        (served.estimator("RKHSGaussian", kernel=lambda X, V: X @ V.T, feature_norm=1.0), "no objects"),
    ],
)
@pytest.mark.filterwarnings("ignore::dperm.errors.NoGuaranteeWarning")
def test_what_cannot_be_served_is_not_packed(tmp_path, model, words):
    with pytest.raises((ValueError, DpermError), match=words):
        pack(model, *served.records(), tmp_path / "m")
    assert not list(tmp_path.iterdir())
