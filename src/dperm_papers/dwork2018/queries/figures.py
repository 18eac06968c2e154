"""Figures and tables of dwork2018-queries: specifications, and what they show in words."""

import math

from dperm_pipeline.figures.looks import MEDIUM_DASHED, equals, number
from dperm_pipeline.figures.spec import Figure, Level, Line, Panel, encoded
from dperm_pipeline.target import Catalogue, Target

_ACCOUNTANTS = {
    "basic": ("basic", "#333333", "s"),
    "advanced": ("advanced (Dwork & Roth 3.20)", "#E69F00", "D"),
    "zcdp": ("zCDP", "#56B4E9", "P"),
    "optimal": ("PLD: exact for e-DP", "#009E73", "^"),
    "bounded_range": ("bounded range", "#D55E00", "o"),
}
_LINES = encoded("accountant", _ACCOUNTANTS, statistic="mean", band=0.15)
_STUDENT = Line("student (m: rows it asked about)", "#0072B2", "X", (0, (4, 1.5)), {"series": "student"},
                statistic="mean", bars=0.8)  # fmt: skip
# At the prices of other accountants it is farther below.
_ATTACK = Line("best adaptive attack, upper bound", "#D55E00", "x", "none",
               {"series": "adaptive", "accountant": "bounded_range"},
               more={"ms": 6, "mew": 1.4, "zorder": 4})  # fmt: skip
_ALL, _MAJORITY = ("not private, all records", "-"), ("majority label", (0, (1, 1.5)))
_LEVELS = [
    # Curves fall to that of the majority label, which is in the air below them.
    Level(lambda rows: rows["value"].mean(), "", "#999999", line, {"variant": variant}, {"lw": 0.9, "zorder": 1},
          fits=line == "-")
    for variant, (_, line) in {"erm": _ALL, "logistic": _ALL, "majority": _MAJORITY}.items()
]  # fmt: skip


def _contested(rows):
    return sorted({int(count) for count in rows.loc[rows["series"] == "consensus", "contested"]})


def _consensus(rows):
    looks = {
        count: (f"consensus, B = {count}", "#CC79A7", marker)
        for count, marker in zip(_contested(rows), ("v", "<", ">"), strict=False)
    }
    return encoded("contested", looks, where={"series": "consensus"})


def _of(series):
    return [line.but(where={**line.where, "series": series}) for line in _LINES]


def _powers(rows):
    """Return the powers of 10 up to the largest m, at most five of them."""
    powers = range(round(math.log10(rows["m"].max())) + 1)
    return [10.0**k for k in powers[:: 1 if len(powers) <= 5 else 2]]


def _names(rows):
    return ["flip", *sorted(set(rows["dataset"]) - {"flip"})]


def _panels(rows):
    accuracy = rows[rows["metric"] == "accuracy"]
    budget = accuracy[accuracy["mechanism"] == "soft_majority"].iloc[0]
    allowed = budget["delta"]
    over = Panel(x="m", xlabel="number m of answers", xticks=_powers)
    lines, whole = [*_of("accuracy"), *_consensus(accuracy), _STUDENT], equals("ε", budget["epsilon"])
    accuracies = [
        over.but(
            lines=lines, where={"metric": "accuracy", "dataset": name}, ylabel="accuracy of an answer",
            title=lambda rows: f"{rows['dataset'].iloc[0]}, n = {int(rows['n'].max()):,}: {whole} for all answers",
            levels=_LEVELS, air=0.05, whole_bands=True,
        )
        for name in _names(accuracy)[:2]
    ]  # fmt: skip
    total = over.but(
        lines=_LINES, where={"metric": "total_epsilon", "series": "total"}, ylabel="total ε",
        title=lambda rows: f"total ε of m answers of {equals('ε', rows['each'].iloc[0])} each",
    )  # fmt: skip
    deltas = over.but(
        lines=[*_of("total"), _ATTACK], ylabel="δ", title="exact δ of the m worst bits at that ε (dashed: allowed)",
        # Basic composition's is 0, and so are those of few answers.
        where={"metric": "delta", "value": lambda value: value > 0}, levels=[Level(allowed, line=MEDIUM_DASHED)],
        span=lambda rows: (max(allowed * 1e-5, rows["value"].min()), 2 * allowed), exactly=True,
    )  # fmt: skip
    return [accuracies, [total, deltas]]


def _legend(rows):
    levels = [Line(label, "#999999", line=line) for label, line in (_ALL, _MAJORITY)]
    return [*_LINES, *_consensus(rows), _STUDENT, _ATTACK, *levels]


queries = Figure(
    _panels,
    height=6.6,
    legend=_legend,
    notes=[
        "Soft majority. {delta.first:metric=accuracy,mechanism=soft_majority}. flip: exact, but for the student; "
        "digits: means over {repeat.count:metric=accuracy} splits; bands and bars: 95 % confidence intervals. "
        "Consensus: rows after the last of B contested answers get a coin; it needs over a thousand shards, and digits "
        "has no records for them. A student answers any number of queries. All accountants price the same bits; only "
        "the last one uses that their range is bounded.",
    ],
)


def queries_answered_table(rows):
    """Return how many queries are answered at an accuracy, a line for each number and way.

    No specification: in words the columns are laws and levels, and a cell is one of two metrics.
    """
    import pandas as pd

    from dperm_pipeline.figures.points import plain as as_text

    rows = as_text(rows)
    rows = rows[(rows["status"] == "ok") & rows["metric"].isin(["answered", "unlimited"])]
    ways = {(name, 0): label for name, (label, *_) in _ACCOUNTANTS.items()}
    ways |= {("consensus", count): f"consensus, B = {count:,}" for count in _contested(rows)}
    ways |= {("student", 0): "student"}
    plain, words = [], {key: {"answered by": label} for key, label in ways.items()}
    order = rows["dataset"].map(_names(rows).index)
    for _, row in rows.assign(order=order).sort_values(["order", "level"], ascending=[True, False]).iterrows():
        key = (row["accountant"] or row["series"], int(row["contested"]))
        unlimited = row["metric"] == "unlimited" and row["value"] > 0
        count = math.inf if unlimited else row["value"]
        at = {"dataset": row["dataset"], "n": int(row["n"]), "accuracy": row["level"], "by": ways[key]}
        plain.append({**at, "answered": count, "labels": int(row["m"]) if unlimited else math.nan})
        word = f"unlimited, {int(row['m']):,} labels" if unlimited else f"{int(count):,}" if count else "–"
        words[key][f"{row['dataset']}, {number(round(100 * row['level'], 4))} %"] = word
    return pd.DataFrame(plain), pd.DataFrame(words.values()).fillna("–")


FIGURES: Catalogue[str, Target] = {
    "dwork2018-queries": Target(
        "Definition 1.1: many queries within one budget",
        "Accuracy of a soft majority's answer over the number of answers that one budget is for, on the flip law and "
        "on digits, by five accountants, in consensus mode and by a student trained on labels; the total epsilon of m "
        "answers at a fixed price; and the exact delta of the m worst bits at that epsilon, with the best adaptive "
        "attack. Bands: 95 % confidence intervals over splits.",
        "Four panels over m: accuracies fall to chance, later the better the accountant; the total epsilon of all but "
        "basic composition rises with slope 1/2; no exact delta lies above the dashed line.",
        metrics=("accuracy", "total_epsilon", "delta"),
    ),
}
TABLES: Catalogue[str, Target] = {
    "dwork2018-queries-answered": Target(
        "How many queries are answered at a given accuracy",
        "The largest number of queries that one budget answers if each answer (in consensus mode the mean of all) is "
        "to be right with a given probability: soft majority by five accountants, consensus with B contested answers, "
        "and a student, which answers any number once it is right so often, and the labels that it needs for that. "
        "Exact on flip, but for the student; on digits for the mean over splits. A dash: no answer is.",
        metrics=("answered", "unlimited"),
    ),
}
