"""How the methods of the frontier are called and drawn, and the figure and the table that its experiments share."""

from collections.abc import Mapping, Sequence

from dperm_pipeline.elsewhere import MECHANISM as ELSEWHERE
from dperm_pipeline.figures.looks import DASHED, DOTTED, NONPRIVATE, Look, equals, number, unknown
from dperm_pipeline.figures.spec import Column, Facet, Figure, Interval, Level, Panel, Table, encoded, like

LOOKS = {
    "objective": Look("ObjectivePerturbation", "#0072B2", "o"),
    "napp": Look("NAPP", "#009E73", "s"),
    "preconditioned": Look("PreconditionedGradientDescent", "#CC79A7", "v"),
    "gradient": Look("NoisyGradientDescent", "#E69F00", "D"),
    "objective_rest": Look("one vs rest of ObjectivePerturbation", "#0072B2", "o"),
    "output_rest": Look("one vs rest of OutputPerturbation", "#D55E00", "^"),
    "approximate_minima": Look("ApproximateMinima", "#56B4E9", "P"),
    "output": Look("OutputPerturbation", "#D55E00", "^"),
    "stable_erm": Look("StableERM, answers=model", "#8A5F00", "s"),
    "stable_sgd": Look("StableSGD, answers=model", "#8A5F00", "^"),
    "soft_majority": Look("SoftMajority (labels for some rows)", "#8A5F00", "D"),
    "output_search": Look("OutputPerturbation, private search", "#D55E00", "v"),
    "gradient_search": Look("NoisyGradientDescent, private search", "#E69F00", "s"),
    "gradient_free": Look("noisy gradient descent tuned on test rows (not private)", "#000000", "o"),
}
# Other people's implementations, by the names under which they were measured.
OTHERS = {
    "better-objpert (AMP)": Look("better-objpert (elsewhere)", "#777777", "X"),
    "double-noise Newton (dp_newton)": Look("double-noise Newton (elsewhere)", "#777777", "*"),
    "diffprivlib LogisticRegression": Look("diffprivlib (elsewhere)", "#777777", "h"),
}
# How each of ours is called, for the explorer; rows have length one, and a constant.
_BUDGET = "epsilon={epsilon}, delta={delta}"
_OWN = "neighbours='{neighbours}', clip=True"
_CALLS = {
    **dict.fromkeys(("objective", "napp", "preconditioned", "gradient", "approximate_minima", "output"), ""),
    **dict.fromkeys(("stable_erm", "stable_sgd"), "answers='model', "),
    "soft_majority": "queries=100, ",
}
CODE = {
    name: f"dperm.{LOOKS[name].label.split(',')[0].split()[0]}({more}{_BUDGET}, {_OWN}, classes=classes).fit(X, y)"
    for name, more in _CALLS.items()
} | {
    f"{name}_rest": f"dperm.PrivateOneVsRest(dperm.{kind}({_OWN}), {_BUDGET}, classes=classes).fit(X, y)"
    for name, kind in (("objective", "ObjectivePerturbation"), ("output", "OutputPerturbation"))
}  # fmt: skip
_DASHED = ("output_search", "gradient_search", "gradient_free")
RELATIONS = {"add_remove": "add/remove", "replace": "replace one"}
# What a column of panels shows, of the largest delta and of pure privacy.
_PROMISE = "promise"


def look(mechanism: str, calibration: str, variant: str, method: str = "") -> Look:
    """Return the look of a method of the explorer."""
    return LOOKS.get(method) or OTHERS.get(method) or unknown(mechanism, calibration, variant)


def _promised(rows):
    """Put relation and delta of a row into one column, empty for what is not private; of deltas the ends stay."""
    private = rows["mechanism"] != "nonprivate"
    ends = [rows.loc[private, "delta"].min(), rows.loc[private, "delta"].max()]
    words = {
        (delta, relation): f"{name}, {equals('δ', delta)}" for delta in ends for relation, name in RELATIONS.items()
    }
    named = [words.get(key, "") for key in zip(rows["delta"], rows["neighbours"], strict=True)]
    rows = rows.assign(**{_PROMISE: named})
    return rows[(rows[_PROMISE] != "") | ~private]


def _promises(rows):
    relations = list(RELATIONS.values())
    named = sorted(set(rows[_PROMISE]) - {""}, key=lambda words: (relations.index(words.split(",")[0]), words))
    # Pure privacy first.
    return sorted(named, key=lambda words: (relations.index(words.split(",")[0]), not words.endswith("0")))


def _ticks(rows):
    """Return the epsilons; the second of many has no room for its number beside the first."""
    every = sorted(set(rows.loc[rows["mechanism"] != "nonprivate", "epsilon"]))
    return every if len(every) < 5 else [every[0], *every[2:]]


def figure(references: Mapping[str, tuple[str, str]], notes: Sequence[str]) -> Figure:
    """Return the figure: a row of panels for each data set, error over epsilon; `references` by variant."""
    looks = {name: like(one, line=DASHED if name in _DASHED else None) for name, one in LOOKS.items()}
    lines = encoded("method", looks)
    others = encoded("method", OTHERS, line=DOTTED, hollow=True, more={"lw": 0.9, "ms": 5})
    levels = [
        Level(lambda rows: rows["value"].mean(), label, NONPRIVATE.colour, dashes, {"variant": variant},
              more={"lw": 0.9}, fits=True)
        for variant, (label, dashes) in references.items()
    ]  # fmt: skip
    panel = Panel(
        (*(line.but(band=0.15, more={"lw": 0.9, "ms": 3}) for line in lines), *others), "epsilon", "test error", "{}",
        levels=levels, across=Facet(_PROMISE, _promises, str, others=[""]), statistic="mean",
        title_look={"size": 7, "loc": "left"}, epsilons=True, xticks=_ticks, sharey=True,
    )  # fmt: skip
    # A long name would run into the title of the next panel.
    rows = Facet("dataset", words=lambda name: name.replace("simulated-", "sim. "))
    return Figure([[panel]], height=(1.6, 1.85), width=8.5, down=rows, prepare=_promised, drawn_only=True,
                  notes=lambda rows: [*notes, *_measured_elsewhere(rows)])  # fmt: skip


def _measured_elsewhere(rows):
    """Say of the grey lines, if there are any, whose they are and where they come from."""
    others = rows[rows["mechanism"] == ELSEWHERE]
    if others.empty:
        return []
    whose = ", ".join(sorted(set(others["variant"])))
    return [
        "Grey and dotted, hollow markers: other people's implementations, measured elsewhere: beforehand, in "
        f"environments of their own, on splits of {others['setting'].iloc[0]} ({whose}; checksums in elsewhere.jsonl). "
        "Their promises are their authors' word; no verdict reads them."
    ]


EPSILONS = (0.1, 0.3, 0.5, 1.0, 2.0, 5.0)
# Of a table's lines: how its private methods and references are called.
_REFERENCES = {"logistic": "not private: logistic regression", "multinomial": "not private: multinomial regression",
               "majority": "the most frequent label"}  # fmt: skip


def _called(part):
    row = part.iloc[0]
    if row["mechanism"] == "nonprivate":
        return _REFERENCES[row["variant"]]
    return (LOOKS | OTHERS)[row["method"]].label


def table() -> Table:
    """Return the table: a line for each data set, promise and method, a column for each epsilon."""
    every = {"metric": "error"}
    return Table(
        [
            Column("dataset"),
            Column("neighbours", words=lambda name: RELATIONS.get(name, "")),
            Column("delta", heading="δ", words=number),
            Column("method", _called),
            Column("splits", lambda part: part["repeat"].nunique(), whole=True),
            *(Interval(f"error_{epsilon:g}", heading=f"ε = {epsilon:g}", where={"epsilon": epsilon})
              for epsilon in EPSILONS),
            Interval("error_inf", heading="not private", where={"epsilon": float("inf")}),
        ],
        by=("dataset", "neighbours", "delta", "method", "variant"), where=every,
    )  # fmt: skip
