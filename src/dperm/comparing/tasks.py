r"""What a target may be, labels or numbers: the methods that serve it, the levels beside them, how errors are counted.

The word that declares the target in the schema chooses the task (`TASKS`).

Errors are made of shares of each record tested on, which are not negative and add up to 1 at most
(`dperm.comparing.errors`). For noise they are whole numbers of 1/`grid`, rounded down, which leaves that true.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge

import dperm
from dperm.domain import Neighbours
from dperm.errors import ConfigError
from dperm.mechanisms.public import schema as schemas
from dperm.mechanisms.public.encoder import PublicEncoder
from dperm.planning import noise
from dperm.values import placing

# Of the models without privacy, C or one over the ridge: nearly no penalty.
_FREE = 100.0
Rows = np.ndarray
# Of a number's error, finer than any noise.
_FINE = 2**20


class Measure(NamedTuple):
    """An error's name and unit, the largest that it can be, and the decimals that are shown of it."""

    name: str
    unit: str
    most: float
    digits: int

    @property
    def words(self) -> str:
        """Return name and unit."""
        return f"{self.name} in {self.unit}"


class Level(NamedTuple):
    """An answer that is the same for all private rows: its name, what is charged for it, counts, errors by those."""

    name: str
    charged: str
    counts: np.ndarray
    errors: Callable[[np.ndarray], tuple[float, ...]]


class Task(ABC):
    """What a comparison asks of a kind of target.

    - what, counted, facts: words of the page. called: what methods are told beside their names. measures: the errors.
    - grid: one over the unit in which shares are counted.
    - given: what every method is told beside the budget.
    """

    what: ClassVar[str]
    counted: ClassVar[str]
    called: ClassVar[str]
    grid: ClassVar[int]
    measures: tuple[Measure, ...]
    facts: tuple[str, ...] = ()
    given: Mapping[str, Any]

    @abstractmethod
    def __init__(self, target: str, words: Mapping[str, Any]): ...

    @abstractmethod
    def read(self, cells: Rows) -> Rows:
        """Return the targets, none of which makes it fail (cells: texts as objects, shape (n,))."""

    @abstractmethod
    def served(self, neighbours: Neighbours, delta: float) -> dict[str, Callable[..., Any]]:
        """Return what makes each method that serves this relation and this delta, by how it is called."""

    @abstractmethod
    def levels(self, X: Rows, y: Rows, Q: Rows) -> dict[str, Rows]:
        """Return what is answered on the rows Q, by what was learnt without privacy from X and y."""

    @abstractmethod
    def level(self, y: Rows) -> Level:
        """Return what stands beside the methods on private rows."""

    @abstractmethod
    def shares(self, found: Rows, y: Rows) -> Rows:
        """Return the shares of each record, by what was answered and what is true."""

    @abstractmethod
    def errors(self, sums: Rows) -> tuple[float, ...]:
        """Return each measure, by sums of shares in any unit."""

    def counts(self, found: Rows, y: Rows) -> Rows:
        """Return the sums of shares as whole numbers of 1/`grid`."""
        return np.floor(self.shares(found, y) * self.grid).astype(np.int64).sum(axis=0)

    def learnt(self, y: Rows) -> Rows:
        """Return targets as methods learn them."""
        return y

    def answers(self, found: Rows) -> Rows:
        """Return what methods answer as targets."""
        return found


class Labels(Task):
    """Classification; `classes` are the declared labels."""

    what = "classifiers"
    counted = "counts of right and wrong answers"
    called = "epsilon=..., delta=..., classes=..., clip=True"
    grid = 1

    def __init__(self, target, words):
        levels = words["levels"]
        if not isinstance(levels, list | tuple) or len(levels) < 2:
            raise ConfigError(_needs(target))
        if None in levels or len(words) > 1:
            raise ConfigError(
                f"schema: the target {target!r} has null among its labels, or more words than levels, which is for "
                "features: a label that is none of them is the first"
            )
        try:
            self._place = placing(levels)
        except ConfigError as error:
            raise ConfigError(f"schema: the target {target!r}: {error}") from None
        self.classes = tuple(str(one).strip() for one in levels)
        self.measures = (Measure("wrong labels", "%", 100.0, 1),)
        self.given = {"classes": self.classes}

    def read(self, cells):
        """Return the labels as texts: of a cell that says one of them, as of features (1.0 is 1), that one."""
        places = map(self._place, cells.tolist())
        return np.array([self.classes[k] if k >= 0 else cell for k, cell in zip(places, cells, strict=True)], dtype=str)

    def served(self, neighbours, delta):
        """Return the linear classifiers, as the planner knows them."""
        kinds = noise.methods(len(self.classes)).values()
        calls = [one.call for one in kinds if neighbours in one.relations and (delta > 0 or one.pure)]
        return {call: _classifier(call, neighbours) for call in calls}

    def levels(self, X, y, Q):
        """Return the most frequent label of those trained on, and what logistic regression answers."""
        labels, counts = np.unique(y, return_counts=True)
        most = np.full(len(Q), labels[counts.argmax()])
        plain = LogisticRegression(C=_FREE, fit_intercept=False, max_iter=2000)
        # Of one label alone scikit-learn fits none.
        return {
            "the most frequent label": most,
            "logistic regression, not private": plain.fit(X, y).predict(Q) if len(labels) > 1 else most,
        }

    def level(self, y):
        """Return the most frequent label, by how many records have each."""
        counts = np.array([int((y == label).sum()) for label in self.classes])

        def errors(found):
            return self.errors(np.array([found.sum() - found.max(), found.max()]))

        return Level("the most frequent label", "how many records have each label", counts, errors)

    def shares(self, found, y):
        """Return wrong and right."""
        return np.column_stack([found != y, found == y]).astype(float)

    def errors(self, sums):
        """Return the share of wrong labels, in per cent."""
        return (float(100 * sums[0] / sums.sum()),)


def _classifier(call: str, neighbours: Neighbours) -> Callable[..., Any]:
    kind, _, inner = call.partition("(")
    if kind == "PrivateOneVsRest":
        one = getattr(dperm, inner.partition("(")[0])
        return lambda **given: dperm.PrivateOneVsRest(one(neighbours=neighbours, clip=True), **given)
    more = {"answers": "model"} if inner else {}
    return lambda **given: getattr(dperm, kind)(neighbours=neighbours, clip=True, **more, **given)


class Method(NamedTuple):
    """A way to a model of numbers in [-1, 1]; `told` has its loss and the bounds that it needs."""

    kind: str
    told: dict[str, Any]
    pure: bool = True
    relations: tuple[str, ...] = ("add_remove", "replace")

    @property
    def call(self) -> str:
        """Return how it is called."""
        return f"{self.kind}({', '.join(f'{name}={value!r}' for name, value in self.told.items())})"


_HUBER, _KNOWN = {"loss": "huber"}, ("replace",)
# Huber's where it is taken: its slope is bounded as it stands, and half as steep as the squared loss is on [-1, 1].
REGRESSIONS = (
    Method("ObjectivePerturbation", _HUBER),
    Method("OutputPerturbation", _HUBER),
    Method("NAPP", {"loss": "squared", "y_bound": 1.0, "eta_bound": 1.0}),
    Method("SparseRegression", {"y_bound": 1.0}),
    Method("NoisyGradientDescent", _HUBER, pure=False),
    Method("PreconditionedGradientDescent", _HUBER, pure=False),
    Method("ApproximateMinima", _HUBER, pure=False, relations=_KNOWN),
    Method("StableERM", {"answers": "model", **_HUBER}, pure=False, relations=_KNOWN),
    Method("StableSGD", {"answers": "model", **_HUBER}, pure=False, relations=_KNOWN),
)


class Numbers(Task):
    """Regression; the declared range is moved to [-1, 1] for the methods, and their answers are clipped to it.

    `encoder` reads the targets as features are read: numbers out of range go to its nearest end, what is missing or no
    number to the middle (or to a declared `missing`). `dperm.diagnostics` of it counts them, for the curator.
    """

    what = "regressions"
    counted = "sums of absolute and squared errors"
    called = "epsilon=..., delta=..., clip=True"
    grid = _FINE

    def __init__(self, target, words):
        (column,) = schemas.columns({target: words}, None)
        self._low, self._width = column.low, column.high - column.low
        self._middle = column.low + self._width / 2
        if words.get("missing") == "indicator":
            raise ConfigError(
                f"schema: the target {target!r} has missing: indicator, which is for features; give a number, or leave "
                "it out for the middle of the range"
            )
        # Not by its own name, which a * would make a pattern.
        self.encoder = PublicEncoder({"target": {"missing": self._middle, **words}}, clip=True)
        # Four figures of the range.
        digits = max(0, 3 - int(np.floor(np.log10(self._width))))
        unit = f"units of {target}"
        names = ("mean absolute error", "root mean squared error")
        self.measures = tuple(Measure(name, unit, self._width, digits) for name in names)
        self.given = {}
        self.facts = (
            f"Targets are declared to lie in [{column.low:.12g}, {column.high:.12g}], which is [-1, 1] for every "
            f"method; what it answers is clipped to that, and errors are in {unit}",
        )

    def read(self, cells):
        """Return the numbers, each within the range."""
        return self._low + self._width * self.encoder.fit_transform(cells[:, None])[:, 0]

    def learnt(self, y):
        """Return the range moved to [-1, 1]."""
        return np.clip((y - self._middle) / (self._width / 2), -1, 1)

    def answers(self, found):
        """Return answers in the target's units, clipped to the range."""
        return self._middle + self._width / 2 * np.clip(found, -1, 1)

    def served(self, neighbours, delta):
        """Return the regressions that serve this relation and this delta, by how they are called."""
        return {
            one.call: _regression(one, neighbours)
            for one in REGRESSIONS
            if neighbours in one.relations and (delta > 0 or one.pure)
        }

    def levels(self, X, y, Q):
        """Return the middle of the range, the mean of what was trained on, and what ridge regression answers."""
        plain = Ridge(alpha=1 / _FREE, fit_intercept=False).fit(X, y)
        return {
            "the middle of the range, public": np.zeros(len(Q)),
            "the mean, not private": np.full(len(Q), y.mean()),
            "ridge regression, not private": plain.predict(Q),
        }

    def level(self, y):
        """Return the middle of the range, by how far the targets are from it."""
        counts = self.counts(np.full(len(y), self._middle), y)
        return Level("the middle of the range, public", "how far the targets are from it", counts, self.errors)

    def shares(self, found, y):
        """Return a^2, a - a^2 and 1 - a, with a the error over the width of the range."""
        a = np.minimum(np.abs(found - y) / self._width, 1)
        return np.column_stack([a**2, a - a**2, 1 - a])

    def errors(self, sums):
        """Return the mean absolute and the root mean squared error, in the target's units."""
        squared, rest, _ = sums / sums.sum()
        return float(self._width * (squared + rest)), float(self._width * np.sqrt(squared))


def _regression(method: Method, neighbours: Neighbours) -> Callable[..., Any]:
    return lambda **given: getattr(dperm, method.kind)(neighbours=neighbours, clip=True, **method.told, **given)


TASKS: dict[str, type[Task]] = {"levels": Labels, "range": Numbers}


def task(target: str, words: Any) -> Task:
    """Return the task of a target, by what the schema says of it; ConfigError if that is neither labels nor a range."""
    kinds = [kind for word, kind in TASKS.items() if isinstance(words, Mapping) and word in words]
    if len(kinds) != 1:
        raise ConfigError(_needs(target))
    return kinds[0](target, words)


def _needs(target: str) -> str:
    return (
        f"schema: the target {target!r} needs its labels or its range, which are public: {target}: {{levels: [no, "
        f"yes]}} to tell labels, {target}: {{range: [0, 100]}} to tell numbers"
    )
