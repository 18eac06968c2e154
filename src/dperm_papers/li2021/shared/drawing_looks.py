"""How NAPP's variants are called and drawn where methods are compared."""

from dperm_pipeline.figures.looks import Look

_KINDS = {"erm": ("NAPP-ERM", "#0072B2"), "vs": ("NAPP-VS", "#009E73"), "vs_plus": ("NAPP-VS+", "#D55E00")}
_CALIBRATIONS = {"paper": "as printed", "corrected": "corrected", "tight": "tight"}


def napp(mechanism: str, variant: str, calibration: str, target: str = "") -> Look | None:
    """Return the look of a variant of NAPP, None of any other mechanism.

    - target: "elastic_net" where the penalty is one (a column of li2021-simulations).
    """
    if mechanism != "napp":
        return None
    kind, _, moor = variant.partition("-")
    name, colour = _KINDS.get(kind, (f"NAPP {kind}", "#666666"))
    if (kind, moor, calibration) == ("erm", "", "paper"):
        name = "DP-ERM"
    words = [name, *(["MOOR"] if moor else []), *(["elastic net"] if target == "elastic_net" else [])]
    return Look(", ".join([*words, _CALIBRATIONS.get(calibration, calibration)]), colour, "o")
