"""How NAPP's variants are called and drawn where methods are compared."""

from dperm_pipeline.figures.looks import Look, unknown

_KINDS = {"erm": ("NAPP-ERM", "#0072B2"), "vs": ("NAPP-VS", "#009E73"), "vs_plus": ("NAPP-VS+", "#D55E00")}
_CALIBRATIONS = {"paper": "as printed", "corrected": "corrected", "tight": "tight"}


def napp(mechanism: str, calibration: str, variant: str, target: str = "") -> Look:
    """Return the look of a variant of NAPP, or of another mechanism; `target` is "elastic_net" or empty."""
    if mechanism != "napp":
        return unknown(mechanism, calibration)
    kind, _, moor = variant.partition("-")
    name, colour = _KINDS.get(kind, (f"NAPP {kind}", "#666666"))
    if (kind, moor, calibration) == ("erm", "", "paper"):
        name = "DP-ERM"
    words = [name, *(["MOOR"] if moor else []), *(["elastic net"] if target == "elastic_net" else [])]
    return Look(", ".join([*words, _CALIBRATIONS.get(calibration, calibration)]), colour, "o")
