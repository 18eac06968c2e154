"""Table 4 of li2021: the simulated data, and the public bounds that stand for them."""

import pandas as pd

from dperm_papers.li2021.simulations.figures import ordered
from dperm_pipeline.figures import engine, style

_PREFIX = "design_"
METRICS = tuple(
    _PREFIX + name
    for name in (
        "records", "features", "half_width", "relevant", "largest", "smallest", "sign", "zeta1", "zeta2",
        "boxed_zeta2", "zeta3", "repeats", "test_rows", "noise_sd", "noise_cut",
    )
)  # fmt: skip
# Loss (the variant of a row) -> the law of y in words.
_LAWS = {
    "squared": "η + tN(0, {noise_sd}², −{noise_cut}, {noise_cut})",
    "poisson": "Poisson(exp(η))",
    "logistic": "Bern(1/(1 + exp({minus}η)))",
}


def table4(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return one line for each design, as numbers and in words.

    - rows: of the experiment li2021-simulations, with what is not about the design too: budgets are read from it.
    """
    rows = engine.plain(rows)
    facts = rows[rows["metric"].isin(METRICS)]
    budgets = rows[rows["mechanism"] == "napp"]
    plain, words = [], []
    for design in ordered(facts, "linear", "poisson", "logistic"):
        own = facts[facts["dataset"] == design]
        fact = own.groupby("metric")["value"].first().rename(lambda name: name.removeprefix(_PREFIX))
        here = budgets[budgets["dataset"] == design]
        epsilons, deltas = (sorted(here[name].unique()) for name in ("epsilon", "delta"))
        law = own["variant"].iloc[0]
        plain.append({"design": design, "loss": law, **{name.removeprefix(_PREFIX): fact[name.removeprefix(_PREFIX)]
                     for name in METRICS}, "epsilons": _list(epsilons), "deltas": _list(deltas)})  # fmt: skip
        number = {name: style.number(value) for name, value in fact.items()}
        last, fall = int(fact["relevant"]) - 1, style.number(float(f"{fact['largest'] - fact['smallest']:.10g}"))
        words.append({
            "model": design.rsplit("-", 1)[0],
            "n": number["records"],
            f"x ({number['features']})": f"Unif(−{number['half_width']}, {number['half_width']})",
            "nonzero θ": f"{number['largest']} − {fall}k/{last}, k = 0, …, {last}",
            # 1/(1 + exp(-sign η)): as printed, sign = -1.
            "y, η = ⟨x, θ⟩": _LAWS[law].format(**number, minus="" if fact["sign"] < 0 else "−"),
            "ε": _list(epsilons),
            "δ": _list(deltas),
            "repeats": number["repeats"],
            "test": number["test_rows"],
            "ζ1, ζ2, ζ3": ", ".join(style.number(float(f"{fact[name]:.5g}")) for name in ("zeta1", "zeta2", "zeta3")),
            "ζ2 in Θ": style.number(float(f"{fact['boxed_zeta2']:.5g}")),
        })  # fmt: skip
    return pd.DataFrame(plain), pd.DataFrame(words)


def _list(values: list[float]) -> str:
    return ", ".join(style.number(value) for value in values)
