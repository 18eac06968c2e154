"""The table jain2013-constants: what Algorithms 1 to 3 and Theorem 5 set, printed, corrected and tight."""

import math
from typing import Any

import pandas as pd

from dperm.figures import style

_HOW = ("paper", "corrected", "tight")
_NAMES = {"pinp": "1, PINP", "tddl": "2, TDDL", "tdil": "3, TDIL"}
# Metric -> column.
_METRICS = {"rounds": "B", "epsilon0": "ε0", "threshold": "σ"}


def constants_table(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tabulate B, epsilon0, sigma, |S| and T.

    Parameters
    ----------
    rows : DataFrame
        Of the experiment jain2013-constants.

    Returns
    -------
    plain : DataFrame
        A line for each algorithm, n lambda, T or d and calibration; `vacuous` is 1 where B < 1 or sigma >= C R/2.
    words : DataFrame
        The same for people, the three calibrations in one cell.
    """
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    rows = rows[rows["series"].isin(list(_NAMES)) & (rows["status"] == "ok")]
    plain, words = [], []
    for (name, total, T, d), place in rows.groupby(["series", "total", "queries", "d"], sort=True):
        head = {"algorithm": _NAMES[name], "nλ": total, "T": T or math.nan, "d": d or math.nan}
        found = {how: _constants(place[place["calibration"] == how]) for how in _HOW}
        plain += [{**head, "calibration": how, **found[how]} for how in _HOW]
        words.append(_line(head, found))
    return pd.DataFrame(plain), pd.DataFrame(words)


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
