"""The explorer's numbers: points from rows, means and gaps of methods at a point, and whose guarantee is real."""

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import special

from dperm.errors import DataError
from dperm_pipeline import elsewhere, tables
from dperm_pipeline.claims.ledger import NOISE
from dperm_pipeline.figures.comparison import Comparison
from dperm_pipeline.report import ledgers

# Rows of some methods name no law of the noise. An attack of the ledger that failed counts for them if its law is one
# of these; one that succeeded counts whatever its law, for no list can know those to come ...
_LAWS = ("", "erm", "exponential", "gamma", "gamma_objective", "gaussian", "laplace", "ledger")
# ... except these, which such rows never are: our controls, and releases with noise or constants of another kind.
_OTHER_LAWS = ("bare", "bias", "half-noise", "loose-solver", "part-of-an-update", "theorem9", "upside-down")
# The estimator itself was attacked, as it is called; of what it publishes besides the model nothing is drawn.
_CALLED, _NOTHING_DRAWN = "called-", "called-published"
# From the weakest to the strongest.
_STRENGTH = ("none", "claimed", "proved_exact", "proved")
_PROVED = {"proved": "proved", "proved_exact": "proved for exact solutions"}
_ARM = ["mechanism", "variant", "calibration", "delta"]
_POINT = ["dataset", "metric", "neighbours", "epsilon"]
_RELEASE = ["guarantee", "repeat", "value", "status"]


def plain(value: Any) -> Any:
    """Return a number of numpy as one of Python, all else as it is."""
    return value.item() if hasattr(value, "item") else value


def read(path: Path, key: str, source: Comparison, others: str | Path | None = None) -> pd.DataFrame:
    """Return the rows of an experiment that can be compared, and those of `others`; failed ones hold no value.

    CorruptFile if the file is not Parquet or lacks a column of the schema, DataError if one that the source asks for.
    """
    metrics = [*source.metrics, *(level.metric for level in source.references if level.metric)]
    own = [choice.column for choice in source.choices]
    marks = [choice.marked for choice in source.choices if choice.marked]
    asked_of = [name for name, *_ in source.filters]
    columns = list(dict.fromkeys([*_ARM, *_POINT, *_RELEASE, *source.extra, *own, *marks, *asked_of]))
    absent = sorted(set(columns) - set(tables.columns(path)))
    if absent and tables.given_up(path):
        return pd.DataFrame({name: [] for name in columns})
    if absent:
        raise DataError(f"{path} has no column {', '.join(absent)}, which the explorer asks for; run {key} again")
    asked = pq.filters_to_expression([("metric", "in", metrics), *source.filters])
    # Read and filter one part at a time: few of millions of rows are needed.
    parts = (part.filter(asked) for part in tables.parts(path, columns))
    rows = pa.concat_tables(parts).unify_dictionaries().to_pandas(ignore_metadata=True)
    if source.keep:
        rows = rows[source.keep(rows)]
    rows = elsewhere.beside(rows, others) if others else rows
    return rows.assign(value=rows["value"].where(rows["status"] == "ok")).reset_index(drop=True)


def points(source: Comparison, rows: pd.DataFrame) -> Iterable[tuple[dict[str, Any], list[dict], list[dict]]]:
    """Yield each point of one data set with its methods and references, those of this run on the same repeats.

    A point is data set, metric, relation, epsilon, and the source's choices; a method has its name's parts, `delta`,
    `guarantee` and `values`, a number for each repeat, NaN where it failed; a reference `level`, `mean`, `half`, `n`.
    DataError if a method has two values for one repeat.
    """
    own = [choice.column for choice in source.choices]
    free = next((choice.column for choice in source.choices if choice.free), None)
    private = rows[(rows["mechanism"] != "nonprivate") & rows["metric"].isin(list(source.metrics))]
    public = rows[rows["mechanism"] == "nonprivate"]
    keys, levels = [*_POINT, *own], functools.cache(functools.partial(_level, public))
    found = _methods(private, keys, [*_ARM, *source.extra])
    offered = _offered(found, keys.index(free)) if free else set()
    for key, methods in found.items():
        point = dict(zip(keys, key, strict=True))
        if free and point[free] not in offered:
            continue
        if free:
            # A release that answers everything; where a method has a release of its own for this value, that one.
            everywhere = found.get(tuple(0 if name == free else value for name, value in point.items()), {})
            methods = everywhere | methods
        ours = [name for name, method in methods.items() if method["mechanism"] != elsewhere.MECHANISM]
        common = functools.reduce(np.intersect1d, (methods[name]["repeats"] for name in ours))
        shown = [
            {**method, "values": method["values"][np.isin(method["repeats"], common) if name in ours else slice(None)]}
            for name, method in sorted(methods.items())
        ]
        references = []
        for level in source.references:
            wanted = {"dataset": point["dataset"], "metric": level.metric or point["metric"], **level.where}
            values = levels(tuple((wanted | {name: point[name] for name in level.by}).items()))
            values = values.loc[values.index.isin(common)] if len(values) > 1 else values
            if values.notna().any():
                mean, half, n = _interval(values.to_numpy())
                known = {"mean": _short(mean), "half": _short(half), "n": None if level.metric else n}
                references.append({"level": (level.label, level.trivial), **known})
        yield point, shown, references


def _methods(private: pd.DataFrame, keys: list[str], arm: list[str]) -> dict[tuple, dict[tuple, dict[str, Any]]]:
    """Return the methods of each point by their names, each with its repeats and values in order."""
    if private.empty:
        return {}
    names = [*keys, *arm]
    # Once for all rows: thousands of small frames would take longer than the sums.
    ids = private.groupby(names, observed=True, sort=True).ngroup().to_numpy()
    order = np.lexsort((private["repeat"].to_numpy(), ids))
    starts = np.flatnonzero(np.diff(ids[order], prepend=-1))
    heads = private.iloc[order[starts]][names].astype(object).itertuples(index=False, name=None)
    columns = [private[name].to_numpy()[order] for name in ("repeat", "value", "guarantee")]
    found: dict[tuple, dict[tuple, dict[str, Any]]] = {}
    for head, *parts in zip(heads, *(np.split(column, starts[1:]) for column in columns), strict=True):
        repeats, values, given_by = parts
        name = tuple(map(plain, head))
        if (np.diff(repeats) == 0).any():
            raise DataError(
                f"{dict(zip(names, name, strict=True))} has two values for one repeat; name the setting that tells "
                "them apart in its comparison.py"
            )
        given = dict(zip(arm, name[len(keys) :], strict=True))
        # As good as the weakest of the releases.
        guarantee = min(map(str, set(given_by)), key=_STRENGTH.index)
        own = {**given, "guarantee": guarantee, "repeats": repeats, "values": values}
        found.setdefault(name[: len(keys)], {})[name[len(keys) :]] = own
    return found


def _offered(found: dict[tuple, dict[tuple, Any]], place: int) -> set[Any]:
    """Return the values of a free choice at which all methods were run."""
    methods_at: dict[Any, set] = {}
    for key, methods in found.items():
        methods_at.setdefault(key[place], set()).update(methods)
    # Releases that answer everything stand at 0: they count at every value.
    everywhere = methods_at.pop(0, set())
    most = max((len(methods | everywhere) for methods in methods_at.values()), default=0)
    return {value for value, methods in methods_at.items() if len(methods | everywhere) == most}


def _level(public: pd.DataFrame, wanted: tuple[tuple[str, Any], ...]) -> pd.Series:
    for name, value in wanted:
        public = public[public[name] == value]
    # A fit without privacy does not depend on epsilon: rows of several epsilons repeat it.
    return public.groupby("repeat")["value"].mean()


def compared(
    arms: Sequence[dict[str, Any]],
    *,
    lower: bool,
    standing_of: Callable[..., tuple],
    point: dict[str, Any],
    extra: Sequence[str] = (),
) -> Iterable[dict[str, Any]]:
    """Yield a line for each method of a point: its mean, and its gap to the best one whose guarantee is real.

    Lines are `arm`, `standing`, `n`, `failed`, and `mean`, `half`, `gap`, `gap_half`: six digits, None for no value.
    `standing_of` is as `standings` returns it.
    """
    standings = [standing_of(arm, point["neighbours"]) for arm in arms]
    measured = [_interval(arm["values"]) for arm in arms]
    real = [k for k, (standing, (mean, *_)) in enumerate(zip(standings, measured, strict=True))
            if standing[0] and not math.isnan(mean)]  # fmt: skip
    best = min(real, key=lambda k: measured[k][0] * (1 if lower else -1), default=None)
    for k, (arm, standing, (mean, half, n)) in enumerate(zip(arms, standings, measured, strict=True)):
        gap, gap_half = math.nan, math.nan
        if best is not None and k != best and arm["mechanism"] != elsewhere.MECHANISM:
            gap, gap_half, _ = _interval(arm["values"] - arms[best]["values"])
        name = tuple(arm.get(part, "") for part in (*_ARM, *extra)) + ("",) * (not extra)
        yield {
            "arm": name, "standing": standing, "n": n, "failed": len(arm["values"]) - n, "mean": _short(mean),
            "half": _short(half), "gap": _short(gap), "gap_half": _short(gap_half),
        }  # fmt: skip


def _interval(values: np.ndarray) -> tuple[float, float, int]:
    """Return mean, half width of Student's 95 % interval, and how many repeats have a value."""
    values = values[~np.isnan(values)]
    n = len(values)
    if n < 2:
        return (float(values[0]) if n else math.nan), math.nan, n
    return float(values.mean()), float(special.stdtrit(n - 1, 0.975) * values.std(ddof=1) / math.sqrt(n)), n


def _short(value: float) -> float | None:
    return None if math.isnan(value) else float(f"{value:.6g}")


def standings(ledger: pd.DataFrame) -> Callable[..., tuple[bool, str, str]]:
    """Return what maps a method, a relation and the rows' paper to (whether its guarantee is real, mark, words).

    A refutation counts for every budget and paper: each law, calibration and relation is attacked at its worst
    budget, and a mechanism is the same code wherever it is run. Where a method names no law, a refutation of any
    law counts.
    """
    families: dict[tuple, pd.DataFrame] = {
        key: group for key, group in ledger.groupby(["mechanism", "calibration", "neighbours"], observed=True)
    }
    known: dict[tuple, tuple[bool, str, str]] = {}

    def standing(arm: dict[str, Any], neighbours: str, paper: str) -> tuple[bool, str, str]:
        if arm["mechanism"] == elsewhere.MECHANISM:
            return False, "↗", f"its authors' word, measured elsewhere: {arm['variant']}"
        key = (
            *(arm[name] for name in ("mechanism", "variant", "calibration", "guarantee")),
            arm["delta"] == 0,
            neighbours,
            paper,
        )
        if key not in known:
            family = families.get((arm["mechanism"], arm["calibration"], neighbours), ledger.iloc[:0])
            # Pure privacy has one law of noise, approximate privacy another.
            own = family[(family["delta"] == 0) == (arm["delta"] == 0)]
            law = own["variant"].fillna("")
            own = own[law == arm["variant"] if arm["variant"] else ~law.isin(_OTHER_LAWS)]
            called = [name for name in law if name.startswith(_CALLED) and not name.startswith(_NOTHING_DRAWN)]
            laws = [arm["variant"]] if arm["variant"] else [*_LAWS, *called]
            known[key] = _standing(own, laws, arm["guarantee"], paper)
        return known[key]

    return standing


def _standing(entries: pd.DataFrame, laws: Sequence[str], guarantee: str, paper: str) -> tuple[bool, str, str]:
    refuted = entries[entries["verdict"] == "refuted"]
    if len(refuted):
        worst = refuted.loc[(refuted["audit_lower_bound"] / refuted["epsilon"]).astype(float).idxmax()]
        bound = float(worst["audit_lower_bound"])
        return False, "✗", (
            f"refuted: attacked at δ = {worst['delta']:g} it claims ε = {worst['epsilon']:g} and "
            f"{'has' if ledgers.unbounded(bound) else 'spends'} {ledgers.least(bound)}"
        )  # fmt: skip
    if entries["reason"].str.contains(NOISE, regex=False, na=False).any():
        return False, "✗", f"{NOISE}, says the ledger"
    held = entries[(entries["verdict"] == "holds up") & entries["variant"].fillna("").isin(laws)]
    if guarantee not in _PROVED:
        return False, "?", "no proof" + (", not refuted" if len(held) else ", not attacked")
    return True, "✓", f"{_PROVED[guarantee]}; {_where_attacked(set(held['paper']), paper)}"


def _where_attacked(papers: set[str], paper: str) -> str:
    """Say where attacks failed: the ledger lists each paper's mechanisms apart."""
    if not papers:
        return "not attacked"
    if paper in papers:
        return "held up when attacked"
    return f"the same mechanism held up when attacked ({', '.join(sorted(papers))})"
