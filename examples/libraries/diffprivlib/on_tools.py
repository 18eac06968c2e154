"""Attacks on `diffprivlib.tools`."""

import functools
import math

import numpy as np
from attack import Attack, Given
from diffprivlib import tools
from diffprivlib.accountant import BudgetAccountant
from setting import N_PUBLIC, UNIT, WARM, state

from dperm.audit import one_by_one

TOOL = "“epsilon: Privacy parameter ε” of each function of diffprivlib/tools; no neighbouring relation"
NAN = math.nan
MIDDLE = [0, 0, 0.5, 0.5, 0.5, 1, 1, 1]


def tool(function, **settings):
    """Return a function of `diffprivlib.tools` as a mechanism; of (counts, edges) the counts are looked at."""

    def call(data, rng):
        out = function(data, random_state=state(rng), accountant=BudgetAccountant(), **settings)
        return np.ravel(out[0] if isinstance(out, tuple) else out)

    return one_by_one(call)


def of_tool(claim, function, pairs, *, epsilon=1.0, draws=1_500, settings=None, **more):
    """Return the attack on a tool, with a pair by relation."""
    mechanism = tool(function, epsilon=epsilon, **(settings or {}))

    def make(relation):
        data, neighbour = pairs[relation]
        words = f"{list(data)} or {list(neighbour)}"
        return Given(mechanism, np.array(data, dtype=float), np.array(neighbour, dtype=float), words)

    return Attack(claim, make, TOOL, epsilon=epsilon, draws=draws, **more)


SIZE = "tools/utils.py:{}: the sensitivity is divided by `array.size`, which counts NaN, while the {} is of the others"
ZEROS = "tools/utils.py:739: noise for upper - lower, while a value that turns NaN takes all of itself out of the sum"

TOOLS = [
    of_tool(
        "tools.count_nonzero",
        tools.count_nonzero,
        pairs={"add_remove": ([1, 1], [1, 1, 1]), "replace": ([1, 1, 1], [1, 1, 0])},
        exact={"add_remove": math.inf, "replace": 1.0},
        because=N_PUBLIC.format("the upper end at which the count is cut off (tools/utils.py:739)"),
    ),
    of_tool(
        "tools.sum(bounds=(0, 1))",
        tools.sum,
        settings={"bounds": UNIT},
        pairs={"add_remove": ([1, 1], [1, 1, 1]), "replace": ([1, 1, 0, 0], [1, 0, 0, 0])},
        draws=3_000,
        exact={"add_remove": math.inf, "replace": 1.0},
        because=N_PUBLIC.format("the ends at which the sum is cut off (tools/utils.py:739)"),
    ),
    of_tool(
        "tools.mean(bounds=(0, 1), epsilon=0.1)",
        tools.mean,
        epsilon=0.1,
        draws=4_000,
        settings={"bounds": UNIT},
        pairs={"add_remove": ([1], [1, 0]), "replace": ([1], [0])},
        # Where the mean of both is, the densities are 2/2 epsilon and 1/2 epsilon e^(-epsilon/2).
        exact={"add_remove": math.log(2) + 0.05, "replace": 0.1},
        because=N_PUBLIC.format("the scale of the noise (tools/utils.py:293)"),
    ),
    of_tool(
        "tools.var(bounds=(0, 1))",
        tools.var,
        settings={"bounds": UNIT},
        pairs={"add_remove": ([0], [0, 1]), "replace": ([0, 0], [0, 1])},
        exact={"add_remove": math.inf},
        because=N_PUBLIC.format("the scale of the noise, 0 for one record (tools/utils.py:451)"),
    ),
    of_tool(
        "tools.std(bounds=(0, 1))",
        tools.std,
        settings={"bounds": UNIT},
        pairs={"add_remove": ([0], [0, 1]), "replace": ([0, 0], [0, 1])},
        exact={"add_remove": math.inf},
        because=N_PUBLIC.format("the scale of the noise, 0 for one record (tools/utils.py:451)"),
    ),
    of_tool(
        "tools.nanmean(bounds=(0, 1)), most values missing",
        tools.nanmean,
        settings={"bounds": UNIT},
        pairs={"add_remove": ([0, *[NAN] * 8], [0, 1, *[NAN] * 8]), "replace": ([0, *[NAN] * 9], [1, *[NAN] * 9])},
        exact={"replace": 10.0},
        because=SIZE.format(293, "mean"),
    ),
    of_tool(
        "tools.nanvar(bounds=(0, 1)), most values missing",
        tools.nanvar,
        settings={"bounds": UNIT},
        pairs={
            "add_remove": ([0, *[NAN] * 18], [0, 1, *[NAN] * 18]),
            "replace": ([0, 0, *[NAN] * 18], [0, 1, *[NAN] * 18]),
        },
        because=SIZE.format(451, "variance"),
    ),
    of_tool(
        "tools.nanstd(bounds=(0, 1)), most values missing",
        tools.nanstd,
        settings={"bounds": UNIT},
        pairs={
            "add_remove": ([0, *[NAN] * 18], [0, 1, *[NAN] * 18]),
            "replace": ([0, 0, *[NAN] * 18], [0, 1, *[NAN] * 18]),
        },
        because=SIZE.format(451, "variance"),
    ),
    of_tool(
        "tools.nansum(bounds=(95, 105))",
        tools.nansum,
        settings={"bounds": WARM},
        pairs={"add_remove": ([100, 100], [100, 100, 100]), "replace": ([100, 100], [100, NAN])},
        exact={"add_remove": math.inf, "replace": 10.0},
        because=ZEROS,
    ),
    of_tool(
        "tools.histogram(bins=2, range=(0, 1))",
        tools.histogram,
        settings={"bins": 2, "range": UNIT},
        pairs={"add_remove": ([0], [0, 1]), "replace": ([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1])},
        draws=3_000,
        exact={"add_remove": 1.0, "replace": 2.0},
        because="tools/histograms.py:143: sensitivity 1 for all bins, while a replaced record moves two of them",
    ),
    of_tool(
        "tools.histogram(bins=2, range=(0, 1), weights=5 each)",
        lambda data, **settings: tools.histogram(data, weights=np.full(len(data), 5.0), **settings),
        settings={"bins": 2, "range": UNIT},
        pairs={"add_remove": ([0], [0, 1]), "replace": ([0, 0], [0, 1])},
        exact={"add_remove": 5.0, "replace": 10.0},
        because="tools/histograms.py:143: sensitivity 1, while a record moves its bin by its weight",
    ),
    of_tool(
        "tools.histogram2d(bins=2, range=(0, 1) twice)",
        lambda data, **settings: tools.histogram2d(data, data, **settings),
        settings={"bins": 2, "range": [UNIT, UNIT]},
        pairs={"add_remove": ([0], [0, 1]), "replace": ([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1])},
        draws=3_000,
        exact={"add_remove": 1.0, "replace": 2.0},
        because="tools/histograms.py:249: sensitivity 1 for all bins, while a replaced record moves two of them",
    ),
    # (0, 0.5) and (0.5, 1) hold 2 and 5 records or fewer to their left; after the move 1 and 4.
    of_tool(
        "tools.median(bounds=(0, 1))",
        tools.median,
        settings={"bounds": UNIT},
        pairs={"add_remove": (MIDDLE, MIDDLE[1:]), "replace": (MIDDLE, [*MIDDLE[1:], 1])},
        draws=3_000,
    ),
    of_tool(
        "tools.quantile(0.25, bounds=(0, 1))",
        functools.partial(tools.quantile, quant=0.25),
        settings={"bounds": UNIT},
        pairs={"add_remove": ([0.5] * 4, [0.5] * 5), "replace": ([0.5] * 4, [*[0.5] * 3, 1])},
        draws=3_000,
    ),
    of_tool(
        "tools.percentile(90, bounds=(0, 1))",
        functools.partial(tools.percentile, percent=90),
        settings={"bounds": UNIT},
        pairs={"add_remove": ([0.5] * 4, [0.5] * 5), "replace": ([0.5] * 4, [*[0.5] * 3, 0])},
        draws=3_000,
    ),
]
