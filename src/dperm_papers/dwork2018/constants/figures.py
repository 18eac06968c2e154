"""The table dwork2018-constants: every bound of the paper, the number that it is about, and the one over the other."""

import math

from dperm_pipeline.figures.looks import number
from dperm_pipeline.target import Catalogue, Target

# Form -> column.
_FORMS = {"printed": "P", "mended": "M", "halved": "H", "tight": "T"}
_PLACE = ["claim", "place", "series", "epsilon", "alpha", "n", "d", "drawn"]


def constants_table(rows):
    """Return a line for each bound, epsilon and form; in words, a line for each bound and epsilon.

    The two differ in their lines, and so this is no specification.
    """
    import pandas as pd

    from dperm_pipeline.figures.points import plain as as_text

    rows = as_text(rows)
    plain, words = [], []
    for key, group in rows[rows["status"] == "ok"].groupby(_PLACE, sort=True):
        place = dict(zip(_PLACE, key, strict=True))
        forms = {form: group[group["variant"] == form].set_index("metric")["value"] for form in _FORMS}
        forms = {form: found for form, found in forms.items() if len(found)}
        head = {"claim": place["claim"], "place": place["place"], "bound of": place["series"]}
        numbers = {name: place[name] or math.nan for name in ("epsilon", "alpha", "n", "d")}
        for form, found in forms.items():
            said = {name: found[name] for name in ("bound", "value", "ratio")}
            plain.append({**head, **numbers, "form": form, **said, "drawn": int(place["drawn"])})
        values = [_word(found["value"]) for found in forms.values()]
        values = values[:1] if len(set(values)) == 1 else values
        words.append(
            {
                **head,
                "ε": _word(numbers["epsilon"]),
                **{column: _word(forms[form]["bound"]) if form in forms else "–" for form, column in _FORMS.items()},
                "value": " / ".join(values) + (", drawn" if place["drawn"] else ""),
                "bound/value": " / ".join(_word(found["ratio"]) for found in forms.values()),
            }
        )
    return pd.DataFrame(plain), pd.DataFrame(words)


def _word(value):
    return "–" if math.isnan(value) else number(float(f"{value:.3g}"))


TABLES: Catalogue[str, Target] = {
    "dwork2018-constants": Target(
        "What every constant gives away",
        "Every bound of the paper as printed (P), with the errata's corrections (M), of gradient descent with half the "
        "step (H) and ours (T); the number that it is about, exact on a law of its own or drawn; and bound over "
        'number. An O(·) has constant 1. Below 1 an upper bound is broken, and a bound "at least" holds.',
        metrics=("bound", "value", "ratio"),
    ),
}
