"""Model files: a zip of `model.json`, which is public, and `private.npz`, the training records. No pickle.

The format stands in docs/model-files.md. The sums tell damage, not forgery: whoever can write the file can write its
sums. So nothing in a file is believed: every name is on a list, every size is checked before memory is taken for it,
and what is wrong is one CorruptFile.
"""

import dataclasses
import hashlib
import io
import json
import math
import os
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_classifier
from threadpoolctl import threadpool_limits

from dperm.errors import ConfigError, CorruptFile, DataError, DpermError
from dperm.mechanisms.estimators.records import places, validated
from dperm.mechanisms.public.encoder import PublicEncoder
from dperm.mechanisms.session.card import privacy_card
from dperm.serve import allowed

FORMAT = "dperm model, version 1"
_PUBLIC, _PRIVATE, _ARRAYS = "model.json", "private.npz", ("X.npy", "y.npy", "salt.npy")
_KEYS = {"format", "estimator", "parameters", "encoder", "columns", "private", "sha256", "card", "whole"}
# model.json is words and numbers: more is not looked at.
_WORDS = 4 << 20


@dataclasses.dataclass(frozen=True)
class Model:
    """What a model file holds.

    - estimator: not fitted, without a journal.
    - X, y: private.
    - columns: names of the features that a row has.
    - encoder: of raw records, fitted; None where rows are numbers already.
    - card: the privacy card when it was packed.
    """

    estimator: BaseEstimator
    X: np.ndarray
    y: np.ndarray
    columns: tuple[str, ...]
    encoder: PublicEncoder | None
    card: dict[str, Any]

    def fitted(self, ledger: str | Path | None, random_state: Any = None) -> Any:
        """Return the estimator, fitted on the records, that answers on a ledger; without one in this process alone.

        - Raises CorruptFile: where `pack` would not have written the file.
        """
        # A journal may be bound to a fit by its last bits, which must not depend on who fits.
        with threadpool_limits(1), warnings.catch_warnings():
            # Said when it was packed, by public numbers alone.
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                made = clone(self.estimator).set_params(state=ledger, random_state=random_state).fit(self.X, self.y)
                check_served(made)
            except (DpermError, OSError, MemoryError):
                raise
            # What `pack` has fitted cannot fail so: somebody else wrote the file. Words might quote a record.
            except Exception as error:
                what = str(error) if isinstance(error, NotServed) else f"{type(error).__name__} in `fit`"
                raise CorruptFile(f"the model file holds what `dperm pack` would refuse: {what}") from None
        return made


class NotServed(ValueError):
    """Of a fitted estimator that no service may answer with."""


def check_served(fitted: Any) -> None:
    """Refuse a fitted estimator without a proof, or one that a record could make fail (NotServed)."""
    told = fitted.privacy_
    if getattr(fitted, "answers", "each") == "model":
        raise NotServed("answers='model' is one released model, which needs no service: give it to who asks")
    if not told.guarantee.startswith("proved"):
        raise NotServed(f"guarantee={told.guarantee!r}: only what is proved is served; {told.reason}")
    if not told.total:
        raise NotServed(
            "with clip=False, or labels taken from the data, a record could make the service fail: pass clip=True and "
            "the public `classes`"
        )


def pack(estimator: Any, X: Any, y: Any, path: str | Path, *, encoder: PublicEncoder | None = None) -> None:
    """Write a model file for `dperm serve`.

    The estimator is fitted once, to see that it can be and for its privacy card; that fit is thrown away, and nothing
    of it is released. The file holds the records: keep it as you keep them.

    Parameters
    ----------
    estimator : estimator
        One of AveragedPrediction, ExpPW, PINP, RKHSGaussian, SoftMajority, StableERM and StableSGD, fitted or not, with
        clip=True and, of labels, declared `classes`: no record may make it fail.
    X, y : array_like, shapes (n, p) and (n,)
        As `fit` takes them; the file has rows of numbers, and of labels those of `classes`.
    path : path-like
        Written whole or not at all; only its owner may read it.
    encoder : PublicEncoder, optional
        Fitted, with clip=True, that made X: then the service takes raw records too.

    Raises
    ------
    ValueError
        If the estimator is none that can be served, or has no proof.
    DpermError
        Whatever `fit` raises.

    References
    ----------
    dwork2018, Section 1 (the interface); docs/model-files.md.
    """
    words = allowed.written(estimator)
    trial = clone(estimator).set_params(state=None)
    trial.fit(X, y)
    check_served(trial)
    if encoder is not None and not (encoder.clip and hasattr(encoder, "columns_")):
        raise ValueError("encoder: pass a fitted PublicEncoder with clip=True, under which no record raises")
    X, y = _as_fitted(trial, X, y)
    columns = [f"x{i}" for i in range(X.shape[1])] if encoder is None else encoder.get_feature_names_out().tolist()
    if len(columns) != X.shape[1]:
        raise ValueError(f"encoder makes {len(columns)} features, and X has {X.shape[1]}: pass X as it made it")
    private = _npz(X, y)
    public = {
        "format": FORMAT,
        **words,
        "encoder": None if encoder is None else _encoder_words(encoder),
        "columns": columns,
        "private": [_PRIVATE],
        "sha256": {_PRIVATE: hashlib.sha256(private).hexdigest()},
        "card": json.loads(privacy_card(trial).to_json()),
    }
    public["whole"] = _whole(public)
    _write(Path(path), {_PUBLIC: json.dumps(public, indent=1, allow_nan=False).encode(), _PRIVATE: private})


def _as_fitted(fitted: Any, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return records as the fit took them, each by itself: rows of numbers, or NaN; labels as one of the classes."""
    labels = is_classifier(fitted)
    X, y = validated(fitted, X, y, numeric=not labels, accept_sparse="csr")
    X = X.toarray() if sparse.issparse(X) else np.ascontiguousarray(X)
    return X, fitted.classes_[places(y, fitted.classes_).astype(int)] if labels else y


def load(path: str | Path) -> Model:
    """Return what a model file holds.

    - Raises CorruptFile: if it is none, damaged, or names what is on no list.
    """
    path = Path(path)
    try:
        parts = _members(path.read_bytes(), (_PUBLIC, _PRIVATE))
        return _read(parts[_PUBLIC], parts[_PRIVATE])
    except CorruptFile as error:
        raise CorruptFile(f"{path} is no model file of dperm: {error}") from None
    except OSError as error:
        raise CorruptFile(f"{path} cannot be read: {error.strerror}") from None


def _read(public: bytes, private: bytes) -> Model:
    found = _json(public)
    if not isinstance(found, dict) or set(found) != _KEYS or found["format"] != FORMAT:
        raise CorruptFile(f"{_PUBLIC} is not of the format {FORMAT!r}")
    if found.pop("whole") != _whole(found) or found["sha256"] != {_PRIVATE: hashlib.sha256(private).hexdigest()}:
        raise CorruptFile("a checksum is wrong: it is damaged, or was edited; pack the model again")
    arrays = {name: _array(name, content) for name, content in _members(private, _ARRAYS).items()}
    X, y, columns = arrays["X.npy"], arrays["y.npy"], found["columns"]
    if X.ndim != 2 or X.dtype != np.float64 or y.ndim != 1 or len(X) != len(y) or y.dtype.kind not in "biufU":
        raise CorruptFile("its records are no table of numbers with a target each")
    if not (isinstance(columns, list) and len(columns) == X.shape[1] and all(isinstance(c, str) for c in columns)):
        raise CorruptFile(f"{_PUBLIC} names not as many columns as the records have")
    if not isinstance(found["card"], dict):
        raise CorruptFile("its card is no mapping")
    estimator = allowed.made(found["estimator"], found["parameters"])
    encoder = None if found["encoder"] is None else _encoder(found["encoder"])
    if encoder is not None and encoder.get_feature_names_out().tolist() != columns:
        raise CorruptFile("its schema makes other columns than the records have")
    return Model(estimator, X, y, tuple(columns), encoder, found["card"])


def _json(content: bytes) -> Any:
    def refused(word: str) -> None:
        raise ValueError(f"{word} is no number of JSON")

    try:
        return json.loads(content.decode("utf-8"), parse_constant=refused)
    except (ValueError, RecursionError):
        raise CorruptFile(f"{_PUBLIC} is no JSON") from None


def _whole(public: dict[str, Any]) -> str:
    """Return the checksum of all: of model.json, which has those of the other parts."""
    rest = {key: value for key, value in public.items() if key != "whole"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _encoder_words(encoder: PublicEncoder) -> dict[str, Any]:
    """Return the schema with patterns spelled out, in the order of the raw columns, as JSON has it."""
    raw = [str(name) for name in getattr(encoder, "feature_names_in_", encoder.schema_)]
    if set(raw) != set(encoder.schema_):
        raise ValueError("encoder: its schema has patterns; spell each column out")
    return {
        "schema": {name: _day(encoder.schema_[name]) for name in raw},
        "constant": bool(encoder.constant),
        "rows": encoder.rows,
        "x_norm": float(encoder.x_norm),
    }


def _day(words: Any) -> Any:
    """Return a column's words with days as text: YAML reads them as dates."""
    if isinstance(words, dict):
        return {key: _day(value) for key, value in words.items()}
    if isinstance(words, list | tuple):
        return [_day(value) for value in words]
    return words.isoformat() if hasattr(words, "isoformat") else words


def _encoder(words: Any) -> PublicEncoder:
    if not (isinstance(words, dict) and set(words) == {"schema", "constant", "rows", "x_norm"}):
        raise CorruptFile("its encoder is not written as one is")
    if not isinstance(words["schema"], dict):
        # A text would be the path of a file.
        raise CorruptFile("its schema is no mapping")
    try:
        encoder = PublicEncoder(**words, clip=True)
        return encoder.fit(np.empty((0, len(words["schema"])), dtype=object))
    except (ConfigError, DataError, ValueError, TypeError) as error:
        raise CorruptFile(f"its schema is wrong: {error}") from None


def _npz(X: np.ndarray, y: np.ndarray) -> bytes:
    file = io.BytesIO()
    # The checksum of this part is not private: without a salt whoever guesses the records could check the guess.
    np.savez(file, X=X, y=y, salt=np.frombuffer(os.urandom(32), np.uint8))
    return file.getvalue()


def _members(content: bytes, names: tuple[str, ...]) -> dict[str, bytes]:
    """Return the members of a zip that has these and no others, none compressed: so none is larger than the file."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            if sorted(info.filename for info in infos) != sorted(names):
                raise CorruptFile(f"it must hold {', '.join(names)} and nothing else")
            if any(info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1 for info in infos):
                raise CorruptFile("its parts must be stored as they are, neither compressed nor encrypted")
            if sum(info.file_size for info in infos) > len(content):
                raise CorruptFile("its parts say that they are larger than the file")
            if any(info.filename == _PUBLIC and info.file_size > _WORDS for info in infos):
                raise CorruptFile(f"{_PUBLIC} is larger than {_WORDS >> 20} MB")
            return {info.filename: archive.read(info) for info in infos}
    except CorruptFile:
        raise
    # zipfile has more ways to fail on damaged bytes than it documents.
    except Exception:
        raise CorruptFile("it is no whole zip file") from None


def _array(name: str, content: bytes) -> np.ndarray:
    """Return an array of .npy, never of objects, and never larger than its bytes."""
    file = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(file)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, fortran, dtype = read[version](file)
    # As above.
    except Exception:
        raise CorruptFile(f"{name} is no array") from None
    if dtype.hasobject or dtype.names or dtype.subdtype or dtype.kind not in "biufU" or dtype.itemsize == 0:
        raise CorruptFile(f"{name} holds objects, not numbers or texts")
    if fortran or any(side < 0 for side in shape) or math.prod(shape) * dtype.itemsize != len(content) - file.tell():
        raise CorruptFile(f"{name} has not as many bytes as its shape needs")
    found = np.frombuffer(content, dtype, offset=file.tell()).reshape(shape)
    # Bytes that are no truth values and no characters.
    wrong = {"b": (np.dtype(np.uint8), 1), "U": (np.dtype(np.uint32).newbyteorder(dtype.byteorder), 0x10FFFF)}
    if dtype.kind in wrong:
        as_numbers, most = wrong[dtype.kind]
        if (np.frombuffer(content, as_numbers, offset=file.tell()) > most).any():
            raise CorruptFile(f"{name} holds bytes that are no {'truth values' if dtype.kind == 'b' else 'characters'}")
    return found.astype(dtype.newbyteorder("="))


def _write(path: Path, parts: dict[str, bytes]) -> None:
    """Write a zip, whole or not at all, for its owner's eyes; the same parts give the same bytes."""
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with open(new, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            with zipfile.ZipFile(file, "w") as archive:
                for name, content in parts.items():
                    archive.writestr(zipfile.ZipInfo(name), content)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        raise DpermError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        new.unlink(missing_ok=True)
