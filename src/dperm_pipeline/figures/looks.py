"""The look of a method (name, colour, marker), and numbers in words: specifications need no plot library for these."""

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """What stands for a method: its name in words, its colour and its marker."""

    label: str
    colour: str
    marker: str


# Dashes, as matplotlib takes them.
DASHED, DOTTED, MEDIUM_DASHED, LONG_DASHED = (0, (4, 1.6)), (0, (1, 1.2)), (0, (5, 1.5)), (0, (6, 2))
# Markers of methods without a look.
SPARE = ("X", "*", "h", "<", ">", "p")
TRIVIAL = Look("answer 0", "#666666", "")
NONPRIVATE = Look("non-private", "#444444", "")


def unknown(mechanism: str, calibration: str, variant: str = "") -> Look:
    """Return the look of a method that has none, somebody's own: its name and a spare marker, always the same one."""
    marker = SPARE[zlib.crc32(f"{mechanism}.{calibration}".encode()) % len(SPARE)]
    return Look(f"{mechanism}, {calibration}", "#000000", marker)


def find(known: Mapping[tuple[str, ...], Look], mechanism: str, calibration: str, variant: str = "") -> Look:
    """Return the look of a method, by (mechanism, calibration, variant); variants without one share their method's."""
    found = known.get((mechanism, calibration, variant)) or known.get((mechanism, calibration))
    return found or unknown(mechanism, calibration, variant)


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
