"""Rows as a cell writes them, for the tests of tables."""

import numpy as np
import pandas as pd

META = {"cell": {"epsilon": 1.0, "n": 3}, "seed": 1, "code": "abc"}


def rows(n=4, seed=0, **own):
    """Return n rows of one cell; keywords become own columns or replace the schema's."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "paper": "kifer2012",
            "experiment": "kifer2012-output",
            "mechanism": "objective",
            "variant": "gamma",
            "calibration": "tight",
            "neighbours": "add_remove",
            "guarantee": "proved_exact",
            "dataset": "adult",
            "epsilon": 0.1,
            "delta": 0.0,
            "repeat": np.arange(n),
            "metric": ["error", "excess"] * (n // 2) + ["error"] * (n % 2),
            "value": rng.standard_normal(n),
            "status": "ok",
        }
    )
    return frame.assign(**own)


def plain(frame):
    """Return the frame as lists, None for missing: what was said, whatever pandas calls the type."""
    return {name: [None if pd.isna(v) else v for v in frame[name].tolist()] for name in frame.columns}
