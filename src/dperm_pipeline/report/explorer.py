"""The explorer: error of every mechanism at the same budget, relation and data, with intervals, from the rows.

A *point* is a data set, metric, relation, setting and epsilon of one experiment: methods are compared only within a
point. A point has the methods of one delta and those of smaller ones, because (epsilon, delta')-privacy implies
(epsilon, delta)-privacy for delta' <= delta.

A method's guarantee is *real* if its own rows say `proved` or `proved_exact`, and the privacy ledger refutes nothing
with its noise, calibration and relation. All other methods are marked, and the page hides them until asked for; other
people's implementations too, which were measured elsewhere (`dperm_pipeline.elsewhere`).

Intervals are Student's, 95 %, over repeats that converged. The *gap* is the difference to the best real method of the
point, paired by repeat.
"""

import functools
import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dperm_pipeline import places
from dperm_pipeline.figures.comparison import SHAPES, Choice, Comparison
from dperm_pipeline.report import assets, explorer_points, ledgers, snippets

NEIGHBOURS = {"add_remove": "add or remove one record", "replace": "replace one record"}
# What a choice consists of.
KEYS = ("source", "dataset", "metric", "neighbours", "first", "second", "delta", "epsilon")
_NUMBERS = ("mean", "half", "gap", "gap_half")


def context(
    rows_paths: Iterable[str | Path],
    privacy_path: str | Path,
    elsewhere: Iterable[str | Path] = (),
    titles: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return what the explorer's template and script need.

    Experiments without a `comparison.py` are passed over. `packed` is the payload as an element of the page, None
    without rows; `default` the choice that the page begins with; `view` its lines, best first; `sources` is for the
    words. `elsewhere`: files of what was measured elsewhere, each in its experiment's folder. `titles`: what the data
    sets of the catalogue are called. CorruptFile if a file cannot be read, DataError if a method has two values for
    one repeat of a point.
    """
    found = payload(rows_paths, privacy_path, elsewhere, titles)
    if not found["lines"]["arm"]:
        return {"packed": None, "default": None, "view": None, "sources": []}
    data = json.dumps(found, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    begin = found["begin"]
    return {
        "packed": assets.pack("explorer", data.encode()),
        "default": begin,
        "view": view(found, begin),
        "sources": found["sources"],
    }


def payload(
    rows_paths: Iterable[str | Path],
    privacy_path: str | Path,
    elsewhere: Iterable[str | Path] = (),
    titles: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return all lines as columns, text and grid values as places in lists; JSON-serialisable.

    `titles` has the words for each of `datasets`. `lines` has an entry for each method at each point: places in
    `sources`, `datasets`, ... (`KEYS`, `arm`, `standing`), counts `n` and `failed`, and `mean`, `half` (of its
    interval), `gap`, `gap_half` (to the best; null for the best itself), on the scale of the logarithm where the metric
    is `log`. `levels`: the references without privacy. Raises as `context`.
    """
    standing_of = explorer_points.standings(ledgers.read(privacy_path, ledgers.PRIVACY))
    paths = {Path(path).parent.name: Path(path) for path in rows_paths}
    others = {places.name_of(Path(path).parent): path for path in elsewhere}
    codes = {name: _Codes() for name in (*KEYS, "arm", "standing", "level")}
    columns = ("arm", "standing", "n", "failed", *_NUMBERS)
    lines = {name: [] for name in (*KEYS, *columns)}
    called = dict(titles or {})
    levels = {name: [] for name in (*KEYS, "level", "n", "mean", "half")}
    sources = []
    for key, source in places.comparisons().items():
        rows = explorer_points.read(paths[key], key, source, others.get(key)) if key in paths else None
        if rows is None or rows.empty:
            continue
        place = len(sources)
        sources.append(_described(key, source, rows))
        made = (str(name) for name in rows["dataset"].unique() if name not in called)
        called |= {name: source.dataset_of(name) if source.dataset_of else name for name in made}
        here = functools.partial(standing_of, paper=sources[place]["paper"])
        # One data set at a time, to save memory.
        by_dataset = (explorer_points.points(source, part) for _, part in rows.groupby("dataset", observed=True))
        for point, arms, references in itertools.chain.from_iterable(by_dataset):
            own = _coded(codes, source, place, point)
            for delta in sorted({arm["delta"] for arm in arms}):
                at = {**own, "delta": codes["delta"](delta)}
                shown = [arm for arm in arms if arm["delta"] <= delta]
                metric = source.metric(point["metric"], point["dataset"])
                for line in explorer_points.compared(
                    shown, lower=metric.lower, standing_of=here, point=point, extra=source.extra
                ):
                    line["arm"] = codes["arm"]((place, *line["arm"]))
                    line["standing"] = codes["standing"](line["standing"])
                    _append(lines, at | line)
                for level in references:
                    _append(levels, at | {**level, "level": codes["level"](level["level"])})
    found = {
        "sources": sources,
        "arms": _looks(codes["arm"].values, [source["key"] for source in sources]),
        "standings": [dict(zip(("real", "mark", "words"), value, strict=True)) for value in codes["standing"].values],
        "references": [{"label": label, "trivial": trivial} for label, trivial in codes["level"].values],
        **{f"{name}s": codes[name].values for name in ("dataset", "metric", "epsilon", "delta", "first", "second")},
        "titles": [called[name] for name in codes["dataset"].values],
        "neighbours": [{"key": key, "words": NEIGHBOURS.get(key, key)} for key in codes["neighbours"].values],
        "lines": lines,
        "levels": levels,
    }
    return {**found, "begin": _begin(found)}


def view(found: dict[str, Any], choice: dict[str, Any], *, every: bool = False) -> dict[str, Any]:
    """Return the lines of one choice (a place for each of `KEYS`), best first: what the page's table holds.

    With `every`, also of methods without a real guarantee. There are `words` (of the choice), `lines` and `levels`:
    dicts with `label`, `mean`, `low`, `high`, `n`, ... Of the lines at most one is `best`: that to which the gaps
    of the others are.
    """
    source = found["sources"][choice["source"]]
    dataset, metric = found["datasets"][choice["dataset"]], found["metrics"][choice["metric"]]
    shown = places.comparisons()[source["key"]].metric(metric, dataset)
    via: Callable[[float], float] = math.exp if shown.log else float
    lines = []
    for line in _matching(found["lines"], choice):
        standing, arm = found["standings"][line["standing"]], found["arms"][line["arm"]]
        if every or standing["real"]:
            gap = _ends(line["gap"], line["gap_half"], via)
            label = _with_delta(arm, found["deltas"][choice["delta"]])
            lines.append(
                {**line, **_ends(line["mean"], line["half"], via), **arm, **standing, "label": label}
                | {f"gap_{name}" if name != "mean" else "gap": value for name, value in gap.items()}
            )
    lines.sort(key=lambda line: (line["mean"] is None, (line["mean"] or 0.0) * (1 if shown.lower else -1)))
    leading = (k for k, line in enumerate(lines) if line["real"] and line["mean"] is not None and line["gap"] is None)
    best = next(leading, None)
    lines = [{**line, "best": k == best, "led": best is not None} for k, line in enumerate(lines)]
    levels = [
        {**level, **_ends(level["mean"], level["half"], via), **found["references"][level["level"]]}
        for level in _matching(found["levels"], choice)
    ]
    words = {
        "source": source["key"], "called": source["called"], "dataset": dataset, "metric": metric,
        "title": found["titles"][choice["dataset"]],
        "label": shown.label, "log": shown.log, "lower": shown.lower,
        "neighbours": found["neighbours"][choice["neighbours"]],
        **{name: found[f"{name}s"][choice[name]] for name in ("first", "second", "epsilon", "delta")},
    }  # fmt: skip
    return {"words": words, "lines": lines, "levels": levels}


def _with_delta(arm: dict[str, Any], chosen: float) -> str:
    """Return what a method is called; with its delta, where that is smaller than the chosen one."""
    delta = arm["armDelta"]
    return (
        f"{arm['label']}, δ\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{_short(delta)}" if 0 < delta < chosen else arm["label"]
    )


def _short(number: float) -> str:
    return f"{number:g}".replace("e-0", "e-")


def _matching(columns: dict[str, list], choice: dict[str, Any]) -> list[dict[str, Any]]:
    wanted = [choice[name] for name in KEYS]
    places = [k for k, key in enumerate(zip(*(columns[name] for name in KEYS), strict=True)) if list(key) == wanted]
    return [{name: column[k] for name, column in columns.items()} for k in places]


def _ends(mean: float | None, half: float | None, via: Callable[[float], float]) -> dict[str, float | None]:
    ends = {"mean": mean, "low": None, "high": None}
    if mean is not None:
        ends["mean"] = via(mean)
        if half is not None:
            ends |= {"low": via(mean - half), "high": via(mean + half)}
    return ends


class _Codes:
    """Codes for values: the place of each among those seen so far, which the page looks up again."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._places: dict[Any, int] = {}

    def __call__(self, value: Any) -> int:
        if value not in self._places:
            self._places[value] = len(self.values)
            self.values.append(value)
        return self._places[value]


def _append(columns: dict[str, list], line: dict[str, Any]) -> None:
    for name, column in columns.items():
        column.append(line[name])


def _coded(codes: dict[str, _Codes], source: Comparison, place: int, point: dict[str, Any]) -> dict[str, int]:
    names = [choice.column for choice in source.choices]
    first, second = ([point[name] for name in names] + ["", ""])[:2]
    own = {**point, "first": first, "second": second}
    return {"source": place} | {name: codes[name](own[name]) for name in KEYS if name not in ("source", "delta")}


def _described(key: str, source: Comparison, rows: pd.DataFrame) -> dict[str, Any]:
    """Return the words of a source, with its choices as they are among the rows."""
    choices, paper = [], key.split("-")[0]
    for choice in source.choices:
        values = _values(choice, rows[rows["mechanism"] != "nonprivate"])
        words = {str(value): choice.words.get(str(value), _in_words(value)) for value in values}
        choices.append({"label": choice.label, "words": words, "marked": bool(choice.marked)})
    return {
        "key": key, "title": source.title, "paper": paper, "called": places.called(paper), "unit": source.unit,
        "fixed": source.fixed, "public": source.public, "choices": choices, "warnings": dict(source.warnings),
        "metrics": {
            dataset: {name: vars(source.metric(name, dataset)) for name in source.metrics}
            for dataset in sorted(map(str, rows["dataset"].unique()))
        },
        "first": {
            dataset: [_first(choice, own) for choice in source.choices]
            for dataset, own in rows[rows["mechanism"] != "nonprivate"].groupby("dataset", observed=True)
        },
    }  # fmt: skip


def _first(choice: Choice, rows: pd.DataFrame) -> Any:
    """Return the value of a choice that a data set begins with."""
    values = _values(choice, rows)
    if choice.marked and rows[choice.marked].any():
        return explorer_points.plain(rows.loc[rows[choice.marked].astype(bool), choice.column].iloc[0])
    if choice.first == "middle":
        return values[len(values) // 2]
    return choice.first if choice.first in values else values[0]


def _values(choice: Choice, rows: pd.DataFrame) -> list[Any]:
    found = set(map(explorer_points.plain, rows[choice.column].unique()))
    return sorted(found - ({0} if choice.free else set()), key=_order)


def _order(value: Any) -> tuple[float, str]:
    """Numbers by size, also those that rows hold as text; words after them."""
    try:
        return float(value), ""
    except ValueError:
        return math.inf, value


def _in_words(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _looks(arms: Sequence[tuple], experiments: Sequence[str]) -> list[dict[str, Any]]:
    """Return how each method is called and drawn; of an experiment no two of one colour share a shape, if they can.

    An arm begins with the place of its experiment. A method keeps its shape at delta = 0, where the page draws it
    lighter.
    """
    looks, taken = [], {}
    for source, *method in arms:
        mechanism, variant, calibration, delta, target = method
        comparison = places.comparisons()[experiments[source]]
        found = comparison.look(mechanism, calibration, variant, *([target] if comparison.extra else []))
        label = found.label + (", δ\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}0" if delta == 0 else "")
        shapes = [found.marker, *SHAPES]
        own = (mechanism, variant, calibration, target)
        free = (name for name in shapes if taken.get((source, found.colour, name), own) == own)
        shape = next(free, found.marker)
        taken[source, found.colour, shape] = own
        named = dict(zip(("mechanism", "variant", "calibration", "armDelta", "target"), method, strict=True))
        code = comparison.code.get(target, "") if comparison.code else snippets.of(mechanism, calibration, variant)
        looks.append({"label": label, "colour": found.colour, "shape": shape, "code": code, **named})
    return looks


def _begin(found: dict[str, Any]) -> dict[str, int] | None:
    """Return the choice to begin with: the first source and data set, epsilon 1 or the nearest, the largest delta."""
    lines = found["lines"]
    if not lines["arm"]:
        return None
    choices = pd.DataFrame({name: lines[name] for name in KEYS}).drop_duplicates()
    datasets, epsilons, deltas = (found[name] for name in ("datasets", "epsilons", "deltas"))

    def rank(row: Any) -> tuple:
        source, dataset = found["sources"][row.source], datasets[row.dataset]
        offered = places.comparisons()[source["key"]].datasets
        first = [*source["first"][dataset], "", ""]
        order = list(source["metrics"][dataset])
        return (
            row.source, offered.index(dataset) if dataset in offered else len(offered),
            order.index(found["metrics"][row.metric]), found["firsts"][row.first] != first[0],
            found["seconds"][row.second] != first[1],
            abs(math.log(epsilons[row.epsilon])), -deltas[row.delta],
        )  # fmt: skip

    best = min(choices.itertuples(index=False), key=rank)
    return {name: int(getattr(best, name)) for name in KEYS}
