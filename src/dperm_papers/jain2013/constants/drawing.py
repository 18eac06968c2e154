"""The table jain2013-constants: what Algorithms 1 to 3 and Theorem 5 set, printed, corrected and tight; exact checks.

The checks stand below the constants, the largest excess of each, which holds if at most its tolerance: measured less
allowed for J-c07, 24, 31 and 33; for J-c06 the slope in log-log less the exponent allowed (1 in n, 3 in T), the larger
one of PINP's and TDDL's.

No specification fits: for people the three calibrations share a line, and the checks have columns of their own.
"""

import math
from typing import Any

import numpy as np
import pandas as pd

from dperm_pipeline.figures import style
from dperm_pipeline.figures.points import plain

_HOW = ("paper", "corrected", "tight")
_NAMES = {"pinp": "1, PINP", "tddl": "2, TDDL", "tdil": "3, TDIL"}
# Metric -> column.
_METRICS = {"rounds": "B", "epsilon0": "ε0", "threshold": "σ"}
# Claim, its words, series, variants, metric, axis and exponent of a slope, tolerance: as its rule has them.
_CHECKS = (
    ("J-c06a", "kernel evaluations over n", "work-n", ("",), "evaluations", "n", 1, 0.05),
    ("J-c06b", "work over T", "work-t", ("",), "work", "queries", 3, 0.05),
    ("J-c07", "size of the net, and which are refused", "net", ("", "refusal"), "excess", None, 0, 1e-9),
    ("J-c24", "Theorem 11", "composition", ("",), "excess", None, 0, 1e-9),
    ("J-c31", "tail of the exponential mechanism", "exponential", ("",), "excess", None, 0, 1e-9),
    ("J-c33", "cubic kernel under translation", "translation", ("cubic",), "excess", None, 0, 0.0),
)


def constants_table(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tabulate B, epsilon0, sigma, |S| and T, and below them the exact checks: with plain numbers, and for people.

    The plain table has a line for each calibration; `vacuous` is 1 where B < 1 or sigma >= C R/2.
    """
    rows = plain(rows)
    rows, numbers, words = rows[rows["status"] == "ok"], [], []
    constants = rows[rows["series"].isin(list(_NAMES))]
    for (name, total, T, d), place in constants.groupby(["series", "total", "queries", "d"], sort=True):
        head = {"algorithm": _NAMES[name], "nλ": total, "T": T or math.nan, "d": d or math.nan}
        found = {how: _constants(place[place["calibration"] == how]) for how in _HOW}
        numbers += [{**head, "calibration": how, **found[how]} for how in _HOW]
        words.append(_line(head, found))
    for check in _CHECKS:
        label, tolerance = f"check {check[0]}: {check[1]}", check[-1]
        found = _checked(rows, check)
        holds = {how: excess <= tolerance for how, excess in found.items()}
        numbers += [
            {"algorithm": label, "calibration": how, "excess": found[how], "holds": int(holds[how])} for how in found
        ]
        excess, held = map(_word, found.values()), ("yes" if value else "no" for value in holds.values())
        words.append({"algorithm": label, "excess": " / ".join(excess), "holds": " / ".join(held)})
    whole = {"vacuous": "Int64", "holds": "Int64"}
    return pd.DataFrame(numbers).astype(whole), pd.DataFrame(words).fillna("–")


def _checked(rows: pd.DataFrame, check: tuple[Any, ...]) -> dict[str, float]:
    """Return the largest excess of a check by calibration."""
    _, _, series, variants, metric, axis, exponent, _ = check
    own = rows[(rows["series"] == series) & rows["variant"].isin(variants) & (rows["metric"] == metric)]
    found = {}
    for how in _HOW:
        # The fit without privacy stands beside what is checked.
        here = own[own["calibration"] == how]
        if axis and len(here):
            found[how] = max(_slope(group, axis) for _, group in here.groupby("mechanism")) - exponent
        elif len(here):
            found[how] = float(here["value"].max())
    return found


def _slope(rows: pd.DataFrame, axis: str) -> float:
    return float(np.polyfit(np.log(rows[axis].to_numpy(float)), np.log(rows["value"].to_numpy(float)), 1)[0])


def _constants(rows: pd.DataFrame) -> dict[str, float]:
    values = rows.set_index("metric")["value"]
    found = {column: float(values.get(metric, math.nan)) for metric, column in _METRICS.items()}
    found |= {
        "log10 |S|": float(values.get("net_digits", math.nan)),
        "T of Theorem 5": float(values.get("own_queries", math.nan)),
    }
    return {**found, "vacuous": int(rows["vacuous"].max())}


def _line(head: dict[str, Any], found: dict[str, dict[str, float]]) -> dict[str, str]:
    line = {"algorithm": str(head["algorithm"]), "nλ": _word(head["nλ"])}
    line |= {key: "–" if math.isnan(head[key]) else f"{head[key]:,.0f}" for key in ("T", "d")}
    for column in _METRICS.values():
        parts = [_word(found[how][column]) for how in _HOW]
        line[f"{column}: printed, corrected, tight"] = "–" if set(parts) == {"–"} else " / ".join(parts)
    digits, own = found["paper"]["log10 |S|"], found["paper"]["T of Theorem 5"]
    line["printed |S|"] = "–" if math.isnan(digits) else f"10^{digits:.1f}"
    line["T of Theorem 5"] = "–" if math.isnan(own) else f"{own:,.0f}"
    line["vacuous"] = ", ".join({"paper": "printed"}.get(how, how) for how in _HOW if found[how]["vacuous"]) or "–"
    return line


def _word(value: float) -> str:
    return "–" if math.isnan(value) else style.number(float(f"{value:.3g}"))
