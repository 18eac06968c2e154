"""Every bound of kifer2012 that one fit, one lemma or one data set decides, checked over repeats.

What is measured stands in the parts: `fits` (Lemmas 3 and 24, Corollary 25, Theorems 26, 30, 31, Section 2.2),
`lemmas` (Lemmas 15, 39, 40, Claims 22 and 23, Appendix H, Section 3.1), `well_behaved` (Definition 2, Section 2.2.2)
and `nuclear` (Section 1.1.1). Neighbours: add/remove (Definition 1).
"""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dperm import seeds
from dperm_papers.kifer2012.bounds import fits, lemmas, nuclear, well_behaved

# Matrices of 2 x 2 have so many entries, and from here on p is far above s = 2 (Definition 2).
_MATRICES, _SPARSE = 4, 8


def run(cell: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of one p: every bound, on every design, for every repeat.

    - cell: as `dperm_pipeline.plan` made it.
    - Returns: `row` is the place in the paper, `form` the reading (printed, mended, tight). Metrics `excess`
      (measured/bound - 1), `slack` (what a solver or a standard error leaves open, alike), `ratio` (measured/bound) and
      `violated`, the last two of bounds that may fail with probability `gamma`.
    """
    settings, p = cell["settings"], int(cell["point"]["p"])

    def rng(name):
        return seeds.generator(cell["seed"], cell["experiment"], name, p)

    epsilon, delta, instances = settings["epsilon"], settings["delta"], settings["instances"]
    plan = fits.Plan(
        epsilon=epsilon, delta=delta, n=settings["sizes"][0], records=settings["records"],
        ridge_multiples=settings["ridge_multiples"], gammas=settings["gammas"], repeats=settings["repeats"],
    )  # fmt: skip
    variances, growth = settings["variances"], settings["growth"]
    found = [fits.measured(cell, p, plan), lemmas.measured(p, instances, rng("lemmas"))]
    if p == _MATRICES:
        found.append(nuclear.measured(cell, epsilon, delta, settings["ridge_multiples"], settings["draws"]))
    if p >= _SPARSE:
        found.append(well_behaved.measured(p, instances, variances, growth, rng("well behaved")))
    head = {
        **{key: cell[key] for key in ("paper", "experiment", "mechanism", "calibration", "neighbours")},
        "variant": "", "guarantee": "none", "epsilon": epsilon, "delta": 0.0, "p": p, "n": 0,
        "problem": "", "ridge_multiple": 0.0, "variance": 0.0, "gamma": 0.0,
    }  # fmt: skip
    frames = []
    for where, values in itertools.chain.from_iterable(found):
        for metric, value in values.items():
            ok = np.isfinite(value)
            column = {"repeat": np.arange(len(value)), "metric": metric, "value": np.where(ok, value, np.nan)}
            frames.append(pd.DataFrame({**head, **where, **column, "status": np.where(ok, "ok", "failed")}))
    return pd.concat(frames, ignore_index=True)
