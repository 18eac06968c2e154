r"""What may be a data set: bounds that a user declares, and neighbouring pairs inside them.

A pair is what both data sets share, and two ends: the differing record of either (`Records`), or the direction in
which the answers move (`Answers`). Pairs are drawn from what has broken mechanisms before: corners, duplicates, both
labels of one point, sets of one class, a record far from all others; and from anywhere inside the bounds.

Neighbouring relations: "add_remove", where the second data set has one record more; "replace", where one record
differs. Answers of queries move by at most their sensitivity: under "add_remove" all the same way, as counts do when a
record joins; under "replace" each as it likes.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dperm.domain import Neighbours, number, one_of

# How many others a record is among.
SIZES = (1, 2, 4, 16)
# Shares of the proposals that are not corners but anywhere.
_ANYWHERE = 0.15
# Rows of full length stay within the bound when they are added up in another order.
INSIDE = 1 - 1e-12

Norm = Literal["each", "sum"]


@dataclass(frozen=True)
class Pair:
    """Two neighbouring data sets.

    Parameters
    ----------
    data, neighbour : object
    words : str
        What they are.
    parts : tuple
        What the space made them of, to be varied.
    """

    data: Any
    neighbour: Any
    words: str
    parts: tuple = ()


@dataclass(frozen=True)
class Records:
    """Data sets of records within bounds: X, or (X, y), or y alone if there are no features.

    Parameters
    ----------
    features : int
        Columns of X.
    box : tuple of float or of ndarray, optional
        Least and greatest value, of all features or of each.
    norm : float, optional
        Greatest Euclidean length of a row.
    classes : sequence, optional
        The labels that y may have.
    targets : tuple of float, optional
        Least and greatest value of y, instead of classes.
    sizes : tuple of int
        How many records there are besides the one that differs.
    """

    features: int = 1
    box: tuple[Any, Any] | None = None
    norm: float | None = None
    classes: tuple | None = None
    targets: tuple[float, float] | None = None
    sizes: tuple[int, ...] = SIZES

    def __post_init__(self):
        if self.features and (self.box is None) == (self.norm is None):
            raise ValueError("X has no bounds, or two: give either box=(low, high) or norm=R")
        if self.norm is not None:
            number("norm", self.norm, 0, np.inf)
        for name, ends in (("box", self.box), ("targets", self.targets)):
            if ends is not None and not (np.all(np.isfinite(ends)) and np.all(np.less(ends[0], ends[1]))):
                raise ValueError(f"{name}={ends!r} must be two finite ends, the first below the second")
        if self.classes is not None and self.targets is not None:
            raise ValueError("y has classes and targets: give one of them")
        if self.classes is not None and len(set(self.classes)) < 2:
            raise ValueError(f"classes={self.classes!r} must be two or more")
        if not self.features and self.classes is None and self.targets is None:
            raise ValueError("a record has neither features nor y: give features, classes or targets")
        if not self.sizes or min(self.sizes) < 0:
            raise ValueError(f"sizes={self.sizes!r} must be some whole numbers, 0 or above")

    def draw(self, relation: Neighbours, rng: np.random.Generator) -> Pair:
        """Return one pair.

        Parameters
        ----------
        relation : {"add_remove", "replace"}
        rng : Generator
        """
        one_of("relation", relation, Neighbours)
        a, b = self._record(rng), self._record(rng)
        if rng.random() < 0.5:
            # One of both is like the other but for its label, or its row: a flip.
            b = (a[0], b[1]) if rng.random() < 0.5 else (b[0], a[1])
        return self._pair(self._others(rng), a, b, relation)

    def vary(self, pair: Pair, relation: Neighbours, rng: np.random.Generator) -> Pair:
        """Return a pair like this one, with one of its parts drawn anew.

        Parameters
        ----------
        pair : Pair
        relation : {"add_remove", "replace"}
        rng : Generator
        """
        others, a, b = pair.parts
        part = rng.integers(4 if len(others[0]) else 3)
        if part == 0:
            return self._pair(self._others(rng), a, b, relation)
        if part == 3:
            # Twice as many, or half.
            keep = np.arange(len(others[0])).repeat(2) if rng.random() < 0.5 else slice(None, None, 2)
            return self._pair((others[0][keep], others[1][keep]), a, b, relation)
        return self._pair(others, *((self._record(rng), b) if part == 1 else (a, self._record(rng))), relation)

    def _record(self, rng: np.random.Generator) -> tuple[np.ndarray, Any]:
        return self._row(rng), self._label(rng)

    def _row(self, rng: np.random.Generator) -> np.ndarray:
        p, anywhere = self.features, rng.random() < _ANYWHERE
        if not p:
            return np.zeros(0)
        if self.box is not None:
            low, high = (np.broadcast_to(np.asarray(end, dtype=float), p) for end in self.box)
            share = rng.random(p) if anywhere else rng.choice([0.0, 1.0, 0.5], p=[0.45, 0.45, 0.1])
            if not anywhere and rng.random() < 0.5:
                share = rng.integers(0, 2, p).astype(float)
            return _between(low, high, share)
        axis = np.zeros(p)
        axis[rng.integers(p)] = rng.choice([-1.0, 1.0])
        row = axis if rng.random() < 0.5 else rng.choice([-1.0, 1.0]) * np.ones(p)
        if anywhere:
            row = rng.standard_normal(p)
        length = rng.random() if anywhere else rng.choice([1.0, 0.0], p=[0.9, 0.1])
        return INSIDE * self.norm * length * row / np.linalg.norm(row)

    def _label(self, rng: np.random.Generator) -> Any:
        if self.classes is not None:
            return self.classes[rng.integers(len(self.classes))]
        if self.targets is not None:
            share = rng.random() if rng.random() < _ANYWHERE else rng.choice([0.0, 0.5, 1.0])
            return float(_between(*map(float, self.targets), share))
        return 0

    def _others(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        size = int(rng.choice(self.sizes))
        kinds = [self._record(rng) for _ in range(int(rng.choice([1, 2, 3])))]
        if rng.random() < 0.3:
            # A set of one class, or one that has both labels of a point.
            kinds = [(kind[0], kinds[0][1]) if rng.random() < 0.5 else (kinds[0][0], kind[1]) for kind in kinds]
        if rng.random() < _ANYWHERE:
            kinds = [self._record(rng) for _ in range(size)] or kinds
        # In turns; or one of each and copies of the first.
        at = np.arange(size) % len(kinds)
        if rng.random() < 0.3:
            at = np.where(np.arange(size) < len(kinds), at, 0)
        rows = np.array([kinds[k][0] for k in at]).reshape(size, self.features)
        labels = float if self.classes is None else _dtype(self.classes)
        return rows, np.array([kinds[k][1] for k in at], dtype=labels)

    def _pair(self, others, a, b, relation: Neighbours) -> Pair:
        first = others if relation == "add_remove" else _joined(others, b)
        words = f"{len(others[0])} records ({_shown(others)}), and {_record_words(a)}"
        words += f" or {_record_words(b)}" if relation == "replace" else " or none"
        return Pair(self._given(first), self._given(_joined(others, a)), words, (others, a, b))

    def _given(self, records):
        X, y = records
        if self.classes is None and self.targets is None:
            return X
        return (X, y) if self.features else y


@dataclass(frozen=True)
class Answers:
    """Data sets that a mechanism sees through answers of queries: vectors whose coordinates move a little.

    Parameters
    ----------
    count : int
        Queries.
    low, high : float
        Bounds of every answer.
    sensitivity : float
        How far neighbours' answers may be apart.
    norm : {"each", "sum"}
        "each": every answer by so much; "sum": all together, in absolute values.
    """

    count: int
    low: float
    high: float
    sensitivity: float = 1.0
    norm: Norm = "each"

    def __post_init__(self):
        one_of("norm", self.norm, Norm)
        number("sensitivity", self.sensitivity, 0, np.inf)
        if self.count < 1 or not self.low < self.high:
            raise ValueError(f"count={self.count}, low={self.low}, high={self.high}: an answer, and low below high")

    def draw(self, relation: Neighbours, rng: np.random.Generator) -> Pair:
        """Return one pair.

        Parameters
        ----------
        relation : {"add_remove", "replace"}
        rng : Generator
        """
        one_of("relation", relation, Neighbours)
        return self._pair(self._base(rng), self._move(relation, rng))

    def vary(self, pair: Pair, relation: Neighbours, rng: np.random.Generator) -> Pair:
        """Return a pair like this one, with its answers, its move, or some of either drawn anew.

        Parameters
        ----------
        pair : Pair
        relation : {"add_remove", "replace"}
        rng : Generator
        """
        (base, move), part = pair.parts, rng.integers(3)
        if part == 0:
            return self._pair(base, self._move(relation, rng))
        fresh = self._base(rng)
        return self._pair(fresh if part == 1 else np.where(rng.random(self.count) < 0.5, base, fresh), move)

    def _base(self, rng: np.random.Generator) -> np.ndarray:
        if rng.random() < _ANYWHERE:
            return rng.uniform(self.low, self.high, self.count)
        levels = np.linspace(self.low, self.high, 5)
        at = _pattern(self.count, rng)
        return np.where(at, *rng.choice(levels, 2))

    def _move(self, relation: Neighbours, rng: np.random.Generator) -> np.ndarray:
        up = _pattern(self.count, rng)
        down = rng.choice([0.0, -1.0]) if relation == "replace" else 0.0
        move = rng.choice([-1.0, 1.0]) * np.where(up, 1.0, down)
        return move / (max(np.abs(move).sum(), 1.0) if self.norm == "sum" else 1.0)

    def _pair(self, base: np.ndarray, move: np.ndarray) -> Pair:
        other = base + self.sensitivity * move
        data, neighbour = np.clip(base, self.low, self.high), np.clip(other, self.low, self.high)
        return Pair(data, neighbour, f"answers {_short(data)}, or {_short(neighbour)}", (base, move))


def _pattern(count: int, rng: np.random.Generator) -> np.ndarray:
    """Return which of some places are chosen: all, one, all but one, a first part, every other one, any."""
    places, at = np.arange(count), rng.integers(count)
    kinds = (places >= 0, places == at, places != at, places < (count + 1) // 2, places % 2 == 0, places == count - 1)
    kinds = *kinds, places == 0, rng.random(count) < 0.5
    return kinds[rng.integers(len(kinds))]


def _between(low, high, share):
    """Return what lies this share of the way from low to high: the ends as they are, and nothing beyond."""
    return np.clip((1 - share) * low + share * high, low, high)


def _dtype(classes) -> np.dtype:
    """Return the type of an array that holds these labels as they are: 1 beside "a" is no "1"."""
    labels = np.asarray(classes)
    return labels.dtype if labels.tolist() == list(classes) else np.dtype(object)


def _joined(others, record):
    X, y = others
    row, label = record
    last = np.empty(1, dtype=y.dtype)
    last[0] = label
    return np.concatenate([X, row[None]]), np.concatenate([y, last])


def _shown(others) -> str:
    kinds = list(dict.fromkeys(_record_words(record) for record in zip(*others, strict=True)))
    return ", ".join(kinds[:3]) + (", ..." if len(kinds) > 3 else "") if kinds else "none"


def _record_words(record) -> str:
    row, label = record
    return (_short(row) if len(row) else "") + f" y={label}"


def _short(values: np.ndarray) -> str:
    return "(" + ", ".join(f"{value:.3g}" for value in values[:12]) + (", ...)" if len(values) > 12 else ")")
