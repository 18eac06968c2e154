"""Figures and tables of kifer2012-output: specifications, and what they show in words."""

import math
import textwrap

from dperm.errors import DataError
from dperm_papers.kifer2012.shared import drawing_data as shared
from dperm_papers.kifer2012.shared.drawing_looks import METHODS, look
from dperm_pipeline.figures.looks import NONPRIVATE, equals, noise_label
from dperm_pipeline.figures.spec import Column, Figure, Interval, Line, Table, like, means, select, told
from dperm_pipeline.target import Catalogue, Target

_METHOD = ("mechanism", "calibration")
_PLACE = ("dataset", "epsilon", "delta", *_METHOD)
_SETTING = ("candidate", "ridge_multiple", "steps", "clip")
_METRICS = {"excess_risk": "excess risk", "test_loss": "test loss", "test_error": "test error"}
_NONPRIVATE = Line(NONPRIVATE.label, NONPRIVATE.colour, line=shared.DOTS, key={"lw": 0.9})
_RING_LOOK = {"ms": 8, "mfc": "none", "mec": "black", "mew": 0.7}
_RING = Line(
    "chosen on the public split", "#000000", "o", "none", y="mean", statistic="value", fits=False,
    more={**_RING_LOOK, "zorder": 4}, key=_RING_LOOK,
)  # fmt: skip
_MARKERS = ("v", "o", "s", "^", "D", "P")


def _check_chosen(rows):
    """Return the rows if no method has two chosen settings at one point."""
    chosen = rows[rows["chosen"].astype(bool)].drop_duplicates([*_PLACE, "metric", "candidate"])
    twice = chosen[chosen.duplicated([*_PLACE, "metric"])]
    if len(twice):
        first = ", ".join(f"{key}={twice[key].iloc[0]}" for key in _PLACE)
        raise DataError(f"two settings are chosen at {first}; delete these cells and run again")
    return rows


def _points(*of_a_line):
    """Return, for `prepare`, what makes means; a line breaks at an epsilon that others have and it has not."""

    def points(rows):
        found = means(*_PLACE, *_SETTING, "chosen", "metric")(rows)
        private = shared.private(_check_chosen(found))
        lines, epsilons = private[[*of_a_line]].drop_duplicates(), private[["epsilon"]].drop_duplicates()
        every = lines.merge(epsilons, how="cross")
        return found.merge(every, how="outer", on=[*every]).fillna({"ok": 0, "failed": 0})

    return points


def _methods(rows):
    """Return mechanism and calibration of each method, in the order of the table of looks, unknown ones last."""
    known = list(METHODS)
    found = sorted(set(zip(*(shared.private(rows)[name] for name in _METHOD), strict=True)))
    return sorted(found, key=lambda method: known.index(method) if method in known else len(known))


def _span(rows):
    """Return what the panels of a data set and a metric show: a logarithmic axis cuts bands, not lines."""
    values = [value for value in (*rows["mean"], *rows["high"]) if not math.isnan(value)]
    lows = [low for low in rows["low"] if not math.isnan(low) and (low > 0 or min(values) <= 0)]
    return (min(values + lows), max(values)) if values else ()


def _panel(rows, lines, dataset, metric, title, **more):
    return shared.panel(
        lines, dataset, metric, levels=[shared.level(NONPRIVATE.colour)], title=dataset if title else "",
        xticks=shared.epsilons(rows), span=_span, **more,
    )  # fmt: skip


def _width(rows):
    return 7.0 if rows["dataset"].nunique() > 2 else 5.2


def _panels(rows):
    methods, datasets, first = _methods(rows), sorted(rows["dataset"].unique()), True
    for metric in ("excess_risk", "test_loss"):
        for delta in sorted(shared.private(rows)["delta"].unique()):
            lines = [
                shared.LINE.but(
                    colour=look(*method).colour, marker=look(*method).marker, label=look(*method).label, band=0.12,
                    aside=1.2 * (k - (len(methods) - 1) / 2), hollow=delta == 0,
                    where={**dict(zip(_METHOD, method, strict=True)), "delta": delta},
                )
                for k, method in enumerate(methods)
            ]  # fmt: skip
            yield [
                _panel(rows, lines, dataset, metric, first,
                       ylabel="" if k else f"{_METRICS[metric]}\n{equals('δ', delta)}")
                for k, dataset in enumerate(datasets)
            ]  # fmt: skip
            first = False


output = Figure(
    _panels,
    height=(1.405, 1.35),
    width=_width,
    where={"metric": ("excess_risk", "test_loss"), "chosen": True},
    prepare=_points("dataset", "delta", *_METHOD, "metric"),
    keep_failed=True,
    legend=lambda rows: [*(like(look(*method)) for method in _methods(rows)), _NONPRIVATE],
    notes=lambda rows: [
        "Excess risk over the non-private minimum on the private training rows, and mean loss on the held-out rows, at "
        "equal (ε, δ) under add/remove; each method at the setting chosen for it on the public split. Hollow: δ = 0. "
        f"Methods are drawn a little side by side. {shared.sample(rows)}"
    ],
)


def _settings(rows, colour):
    """Give each setting of a method with a shade and a marker: by multiple, or shade by steps and marker by clip."""
    from dperm_pipeline.figures.style import shades

    # A multiple that is the method's own default may differ from epsilon to epsilon.
    order = rows.dropna(subset="steps").groupby("candidate")[["ridge_multiple", "steps", "clip"]].mean()
    order = order.sort_values(["ridge_multiple", "steps", "clip"])
    lengths, clips = sorted(order["steps"].unique()), sorted(order["clip"].unique())
    descends = max(lengths, default=0) > 0
    colours = shades(colour, len(lengths) if descends else len(order))
    for k, (name, setting) in enumerate(order.iterrows()):
        shade = lengths.index(setting["steps"]) if descends else k
        marker = clips.index(setting["clip"]) if descends else k
        yield name, colours[shade], _MARKERS[marker % len(_MARKERS)]


def _dashes(rows):
    from dperm_pipeline.figures.style import linestyles

    return {delta: dashes for delta, dashes in linestyles(rows["delta"]).items() if (rows["delta"] == delta).any()}


def _sweep_panels(rows):
    private, datasets = shared.private(rows), sorted(rows["dataset"].unique())
    deltas, metric = _dashes(private), rows["metric"].iloc[0]
    beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "handletextpad": 0.0, "labelspacing": 0.25,
              "borderaxespad": 0.2}  # fmt: skip
    for row, method in enumerate(_methods(rows)):
        where, method_look = dict(zip(_METHOD, method, strict=True)), look(*method)
        lines = []
        for name, colour, marker in _settings(select(private, where), method_look.colour):
            for delta, dashes in deltas.items():
                here = {**where, "candidate": name, "delta": delta}
                lines += [
                    shared.LINE.but(label=name, colour=colour, marker=marker, line=dashes, where=here,
                                    hollow=delta == 0, band=0.1, key={"ls": "none", "mfc": colour}),
                    _RING.but(label="", where={**here, "chosen": True, "ok": lambda ok: ok > 0}),
                ]  # fmt: skip
        words = "\n".join(textwrap.wrap(method_look.label, 14))
        yield [
            _panel(
                rows, lines, dataset, metric, row == 0, ylabel="" if k else words,
                legend=beside if dataset == datasets[-1] else None, also=_painted(method_look.colour),
            )
            for k, dataset in enumerate(datasets)
        ]  # fmt: skip


def _painted(colour):
    """Return what writes the method's name in its colour."""
    return lambda axis, rows: axis.yaxis.label.set_color(colour)


def _sweep_legend(rows):
    grey = [
        Line(noise_label(delta), "#555555", "o", dashes, hollow=delta == 0)
        for delta, dashes in sorted(_dashes(shared.private(rows)).items())
    ]
    return [_RING, *grey, _NONPRIVATE]


def _sweep(metric):
    return Figure(
        _sweep_panels,
        height=(1.405, 1.25),
        width=_width,
        columns=2,
        where={"metric": metric},
        prepare=_points("dataset", "delta", *_METHOD, "candidate", "metric"),
        keep_failed=True,
        legend=_sweep_legend,
        notes=lambda rows: [
            f"{_METRICS[metric].capitalize()} of every setting that was tried. Multiple: the added curvature is "
            "multiple·λ/ε, or the method's own default where that is more; clip: in units of ζ. The panels of a data "
            f"set share their y-axis. {shared.sample(rows)}"
        ],
    )


output_sweep, output_sweep_test = _sweep("excess_risk"), _sweep("test_loss")


def _label(row):
    return (NONPRIVATE if row["mechanism"] == "nonprivate" else look(*row[[*_METHOD]])).label


def _used(name):
    """Return a setting; 0 stands for one that the method does not have."""
    return told(lambda row: row[name] or math.nan)


def _legend_order(part):
    """Return the key of a line: methods in the order of the legend."""
    *point, mechanism, calibration = part[[*_PLACE]].iloc[0]
    order = {method: k for k, method in enumerate(METHODS)}
    return *point, order.get((mechanism, calibration), len(order))


output_table = Table(
    [
        Column("dataset", heading="data set"),
        Column("epsilon", heading=""),
        Column("", shared.budget("epsilon"), "ε"),
        Column("delta", heading=""),
        Column("", shared.budget("delta"), "δ"),
        Column("method", told(_label)),
        Column("setting", "candidate", words=lambda setting: setting or "–"),
        Column("ridge_multiple", _used("ridge_multiple"), ""),
        Column("steps", _used("steps"), "", whole=True),
        Column("clip", _used("clip"), ""),
        *(Interval(metric, heading=title, where={"metric": metric}) for metric, title in _METRICS.items()),
        Column("repeats", shared.count("ok")),
        Column("failed", shared.count("failed")),
    ],
    by=(*_PLACE, *_SETTING),
    where={"metric": tuple(_METRICS), "chosen": True},
    prepare=_check_chosen,
    order=_legend_order,
    keep_failed=True,
)


FIGURES: Catalogue[str, Target] = {
    "kifer2012-output": Target(
        "Objective against output perturbation",
        "Excess risk on the private training rows and loss on held-out rows over epsilon, by objective and output "
        "perturbation and three other mechanisms, at equal (epsilon, delta) under add/remove. Each method uses the "
        "setting that was chosen for it on a public split. Bands: 95 % confidence intervals of the mean.",
        "Line plots, one column for each data set, one row for each delta: above excess risk, below test loss, both "
        "falling as epsilon grows; one line for each method, and the non-private test loss as a level.",
    ),
    "kifer2012-output-sweep": Target(
        "Objective against output perturbation: excess risk of every setting",
        "What the choice of a setting does: excess risk over epsilon for every ridge multiple that was tried, and of "
        "gradient descent for every number of steps and clipping norm. Rings mark the setting chosen on the public "
        "split. Bands: 95 % confidence intervals of the mean.",
        "Line plots, one column for each data set and one row for each method; one line for each setting and noise; "
        "rings on the settings that were chosen.",
    ),
    "kifer2012-output-sweep-test": Target(
        "Objective against output perturbation: test loss of every setting",
        "What the choice of a setting does to the loss on test rows, which have no part in it; the settings are those "
        "of kifer2012-output-sweep. Rings mark the setting chosen on the public split. Bands: 95 % confidence "
        "intervals of the mean.",
        "Line plots, one column for each data set and one row for each method; one line for each setting and noise; "
        "rings on the settings that were chosen, and the non-private test loss as a level.",
    ),
}
TABLES: Catalogue[str, Target] = {
    "kifer2012-output": Target(
        "Objective against output perturbation",
        "Mean over repeats with its 95 % confidence interval in brackets, each method at the setting chosen on the "
        "public split.",
    ),
}
