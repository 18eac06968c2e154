"""Jobs of the auditor, as a plan would give them but for their rows and draws."""

BUDGET = {"neighbours": "add_remove", "epsilon": 1.0, "delta": 0.0}


def job(mechanism, pair, *rows, paper="kifer2012", family="linear", calibration="tight", draws=400, **changes):
    """A job; of a row what differs from `BUDGET` is given."""
    return {
        "paper": paper, "family": family, "mechanism": mechanism, "calibration": calibration, "pair": pair,
        "rows": [BUDGET | row for row in rows], "draws": draws, "confidence": 0.95, "seed": 1, **changes,
    }  # fmt: skip
