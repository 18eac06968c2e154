"""The table dwork2018-constants: every bound of the paper, the number that it is about, and the one over the other."""

import math

import pandas as pd

from dperm_pipeline.figures import style

# Form -> column.
_FORMS = {"printed": "P", "mended": "M", "halved": "H", "tight": "T"}
_PLACE = ["claim", "place", "series", "epsilon", "alpha", "n", "d", "drawn"]


def constants_table(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tabulate the bounds in all their forms.

    - rows: of the experiment dwork2018-constants.
    - plain: a line for each bound, epsilon and form, with `bound`, `value` and `ratio`.
    - words: a line for each bound and epsilon: P, M, H, T; the value, one for each form where they differ; the ratios.
    """
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    rows = rows[rows["status"] == "ok"]
    plain, words = [], []
    for key, place in rows.groupby(_PLACE, sort=True):
        told = dict(zip(_PLACE, key, strict=True))
        forms = {form: place[place["variant"] == form].set_index("metric")["value"] for form in _FORMS}
        forms = {form: found for form, found in forms.items() if len(found)}
        head = {"claim": told["claim"], "place": told["place"], "bound of": told["series"]}
        numbers = {name: told[name] or math.nan for name in ("epsilon", "alpha", "n", "d")}
        for form, found in forms.items():
            line = {**head, **numbers, "form": form, **{name: found[name] for name in ("bound", "value", "ratio")}}
            plain.append({**line, "drawn": int(told["drawn"])})
        line = {**head, "ε": _word(numbers["epsilon"])}
        line |= {column: _word(forms[form]["bound"]) if form in forms else "–" for form, column in _FORMS.items()}
        values = list(dict.fromkeys(_word(found["value"]) for found in forms.values()))
        same = len(values) == 1
        line["value"] = values[0] if same else " / ".join(_word(found["value"]) for found in forms.values())
        line["value"] += ", drawn" if told["drawn"] else ""
        line["bound/value"] = " / ".join(_word(found["ratio"]) for found in forms.values())
        words.append(line)
    return pd.DataFrame(plain), pd.DataFrame(words)


def _word(value: float) -> str:
    return "–" if math.isnan(value) else style.number(float(f"{value:.3g}"))
