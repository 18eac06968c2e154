"""The look of every method, and numbers in words: what specifications of figures need, and no plot library."""

import math
import zlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """What stands for a method: its name in words, its colour and its marker."""

    label: str
    colour: str
    marker: str


# (mechanism, calibration) -> look. Colours of Okabe & Ito (2008), told apart with any colour vision.
METHODS = {
    ("objective", "tight"): Look("objective, tight", "#0072B2", "o"),
    ("objective", "paper"): Look("objective, Algorithm 1", "#009E73", "s"),
    ("output", "tight"): Look("output", "#D55E00", "^"),
    ("cms11", "paper"): Look("CMS11, Algorithm 2", "#56B4E9", "P"),
    ("approximate_minima", "paper"): Look("approximate minima", "#CC79A7", "v"),
    ("gradient", "tight"): Look("noisy gradient descent", "#E69F00", "D"),
    # jain2013: colour and marker tell the calibration, the figure the algorithm; no figure but `noise` has two.
    **{
        (mechanism, calibration): Look(f"{name}{words}", colour, marker)
        for mechanism, name in (("tddl", "TDDL"), ("pinp", "PINP"), ("tdil", "TDIL"))
        for calibration, words, colour, marker in (
            ("paper", ", as printed", "#D55E00", "s"),
            ("corrected", ", corrected", "#E69F00", "D"),
            ("tight", ", tight", "#CC79A7", "v"),
        )
    },
    ("rkhs_gaussian", "tight"): Look("RKHS Gaussian, one path", "#0072B2", "o"),
    ("explicit_output", "tight"): Look("Gaussian output", "#009E73", "^"),
    # dwork2018: colour and marker tell the mechanism; where a figure shows two calibrations, its lines tell them.
    **{
        (mechanism, calibration): Look(f"{name}{words}", colour, marker)
        for mechanism, name, colour, marker in (
            ("soft_majority", "soft majority", "#56B4E9", "P"),
            ("averaged", "averaging", "#E69F00", "D"),
            ("stable_erm", "stable ERM", "#009E73", "^"),
            ("stable_sgd", "stable SGD", "#CC79A7", "v"),
            ("exppw", "ExpPW", "#D55E00", "s"),
        )
        for calibration, words in (("paper", ", as printed"), ("corrected", ", mended"), ("tight", ""))
    },
}
# (mechanism, variant) -> look of what a variant makes another method.
VARIANTS = {
    ("tddl", "bare"): Look("bare O(·), constant 1 (not private)", "#8A5F00", "+"),
    ("rkhs_gaussian", "fresh"): Look("fresh Gaussian noise, composed", "#999999", "x"),
}
# Markers of methods without a look.
SPARE = ("X", "*", "h", "<", ">", "p")
TRIVIAL = Look("answer 0", "#666666", "")
NONPRIVATE = Look("non-private", "#444444", "")


def look(mechanism: str, calibration: str, variant: str = "") -> Look:
    """Return the look of a method; variants without a look of their own share their method's.

    A method that has none, somebody's own, gets its name and a spare marker, always the same one.
    """
    found = VARIANTS.get((mechanism, variant)) or METHODS.get((mechanism, calibration))
    marker = SPARE[zlib.crc32(f"{mechanism}.{calibration}".encode()) % len(SPARE)]
    return found or Look(f"{mechanism}, {calibration}", "#000000", marker)


def noise_label(delta: float) -> str:
    """Return the name of a noise in words, by its delta."""
    return f"{'pure' if delta == 0 else 'Gaussian'} noise, {equals('δ', delta)}"


def equals(name: str, *values: float) -> str:
    """Return `ε = 0.1, 1`, kept together where lines are wrapped."""
    return f"{name} = {', '.join(map(number, values))}".replace(" ", "\N{NO-BREAK SPACE}")


def number(value: float) -> str:
    """Return a number as people write it: 0.3, 3, 10⁻⁶."""
    if value == 0 or not math.isfinite(value) or 1e-3 <= abs(value) < 1e4:
        return {math.inf: "∞"}.get(value, f"{value:.6g}")
    mantissa, exponent = f"{value:.3e}".split("e")
    power = "10" + str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    mantissa = f"{float(mantissa):g}"
    return power if mantissa == "1" else f"{mantissa}·{power}"
