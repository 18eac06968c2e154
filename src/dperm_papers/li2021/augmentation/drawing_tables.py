"""Tables 1 to 3 of li2021, in numbers."""

import math

import pandas as pd

_MODELS = {"squared": "linear", "poisson": "Poisson", "logistic": "logistic"}
_TARGETS = {"ridge": "ridge", "bridge": "bridge l₀.₅", "lasso": "lasso", "elastic_net": "elastic net"}
_COLUMNS = {"max": "maximum (Table 2)", "sum": "sum (Claim 2)"}
_LOSSES = {
    "L": "expected loss L",
    "J": "regularized empirical loss J",
    "Jp": "noise-augmented empirical loss J_p, iteration T",
    "Jp-expected": "its expectation over the data",
    "Jp-private": "NAPP empirical loss, iteration T",
}


def table1(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tabulate e_y as printed and as repaired, and whether Eq 3 can be run with it.

    - rows: of the experiment li2021-augmentation.
    - plain, words: numbers, and the same for people.
    """
    here = _of(rows, "table-1")
    found = []
    for loss, name in _MODELS.items():
        for form in ("printed", "repaired"):
            value = here[(here["loss"] == loss) & (here["form"] == form)].set_index("metric")["value"]
            mean = 0.5 * (value["slope_first"] + value["slope_second"])
            found.append(
                {
                    "model": name, "e_y": form, "first half": value["response_first"],
                    "second half": value["response_second"], "l'(0), first half": value["slope_first"],
                    "l'(0), second half": value["slope_second"], "l''(0)": value["curvature"],
                    "sum of regularization noise": float(
                        here.loc[(here["loss"] == loss) & (here["form"] == "sum"), "value"].iloc[0]
                    ),
                    "error of the linear term": value["excess"], "mean l'(0)": mean,
                }
            )  # fmt: skip
    plain = pd.DataFrame(found)
    words = plain.map(_number)
    words["Eq 3"] = ["divides by 0" if mean == 0 else "b/(nₑ l′(0))" for mean in plain["mean l'(0)"]]
    return plain, words.drop(columns="mean l'(0)")


def table2(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tabulate weights, the penalty that they reach and the one that is stated, by maximum and by sum.

    - rows: of the experiment li2021-augmentation.
    """
    here = _of(rows, "table-2")
    found = []
    for target, name in _TARGETS.items():
        for form, column in _COLUMNS.items():
            part = here[(here["target"] == target) & (here["form"] == form)]
            value = part.set_index(["metric", "at"])["value"]
            line = {"target": name, "weights": column, "w at t = 1": value["first_weight", 0.0]}
            for at in sorted(set(part["at"]) - {0.0}):
                stated = value["stated" if form == "max" else "eq2", at]
                line |= {
                    f"w at |θ| = {at:g}": value["weight", at], f"P reached at {at:g}": value["reached", at],
                    f"ΛR at {at:g}": value["stated", at], f"ΛR + Λ₀θ² at {at:g}": value["eq2", at],
                    f"P over what is stated, at {at:g}": value["reached", at] / stated,
                }  # fmt: skip
            found.append(line)
    plain = pd.DataFrame(found)
    return plain, plain.map(_number)


def table3(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tabulate the losses of Table 3 at their minimisers, for one data set.

    - rows: of the experiment li2021-augmentation.
    """
    here = _of(rows, "table-3")
    found = []
    for form, name in _LOSSES.items():
        value = here[here["form"] == form].set_index("metric")["value"]
        found.append(
            {
                "loss": name, "minimum": value.get("minimum", math.nan),
                "norm of the minimiser": value.get("norm", math.nan),
                "its distance to θ⁰": value.get("distance", math.nan),
                "its expected loss L": value.get("expected_loss", math.nan),
            }
        )  # fmt: skip
    plain = pd.DataFrame(found)
    return plain, plain.map(_number)


def _of(rows: pd.DataFrame, row: str) -> pd.DataFrame:
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    return rows[rows["row"] == row]


def _number(value: object) -> object:
    if not isinstance(value, float):
        return value
    # Below that is rounding.
    return "–" if math.isnan(value) else f"{value if abs(value) > 1e-12 else 0.0:.3g}"
