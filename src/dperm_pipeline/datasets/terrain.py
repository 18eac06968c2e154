"""Cells of a made-up forest with the columns of UCI Covertype: what `covertype-like` is drawn from.

A cell has a wilderness area, a soil type given the area, ten numbers given both, and a cover type:

- frequencies of areas, of soils in an area, and the mean elevation on each soil are those of Covertype, rounded;
- distances are gamma, those to roads and to fire points share a part; the vertical distance to water goes with the
  horizontal one and the slope;
- hillshade is geometry: 255 (cos zenith cos slope + sin zenith sin slope cos(azimuth - aspect)) at three suns;
- P(class 2) = 1/(1 + exp(-s)), s a polynomial of degree three in elevation with its interplays, plus a term for each
  area and soil: rounded coefficients of a logistic regression on the 16 % subsample, times 1.3.

The constants are rounded aggregates of public records. All were chosen before any private fit was run.
"""

import numpy as np
from scipy.special import expit

from dperm import seeds
from dperm_pipeline.datasets import covertype

# In the units of the codebook: the lowest and highest value that a cell may have.
LIMITS = covertype.RANGES
_AREA_SHARES = (0.449, 0.051, 0.436, 0.064)
# For each area: soil type -> how many of a thousand cells lie on it.
_SOIL_SHARES = (
    {9: 5, 12: 116, 16: 8, 18: 7, 19: 10, 20: 27, 22: 75, 23: 112, 24: 10, 29: 440, 30: 116, 38: 28, 39: 25, 40: 17},
    {13: 9, 19: 20, 22: 174, 23: 276, 24: 78, 25: 13, 31: 13, 32: 123, 33: 95, 35: 16, 38: 69, 39: 29, 40: 74},
    {2: 22, 3: 9, 4: 43, 10: 58, 11: 48, 13: 68, 17: 10, 20: 10, 22: 33, 23: 84, 24: 65, 26: 10, 27: 4, 31: 97, 32: 192,
     33: 167, 34: 6, 38: 24, 39: 23, 40: 10},
    {1: 87, 2: 58, 3: 66, 4: 33, 5: 41, 6: 180, 10: 480, 11: 18, 14: 11, 16: 6, 17: 21},
)  # fmt: skip
# Mean elevation on each of the 40 soil types, in metres, and how an area moves it; the rest is N(0, 140^2).
_SOIL_HEIGHT = np.array([
    2170, 2500, 2400, 2610, 2160, 2390, 2910, 2910, 2570, 2470, 2700, 2820, 2890, 2230, 2500, 2720, 2560, 2560, 3060,
    2860, 3100, 3140, 3060, 3040, 3240, 2880, 3190, 2760, 3000, 2920, 3050, 3110, 3030, 3020, 3360, 3370, 3390, 3330,
    3310, 3440,
])  # fmt: skip
_AREA_HEIGHT, _HEIGHT_SD = np.array([0.0, 80.0, 0.0, -130.0]), 140.0
# Means of an area: slope in degrees, horizontal distances in metres to water, roads and fire points.
_SLOPE, _WATER = np.array([12.0, 13.0, 15.0, 21.0]), np.array([245.0, 322.0, 298.0, 187.0])
_ROADS, _FIRE = np.array([3130.0, 1016.0, 1943.0, 732.0]), np.array([2554.0, 2133.0, 1561.0, 777.0])
# The sun at 9 am, noon and 3 pm: zenith angle and azimuth, in degrees.
_SUN = ((32.0, 118.0), (20.0, 190.0), (51.0, 245.0))
# s: elevation in units of 280 m from 2,950 m (e), roads and fire points in km, water in 100 m, slope in 10 degrees.
_STEEPNESS, _INTERCEPT = 1.3, 0.15
_AREA_EFFECT = np.array([0.0, 0.8, 0.0, -0.6])
_SOIL_EFFECT = np.array([
    -1.6, -2.3, -0.1, -1.4, -1.4, -0.5, 0.7, -0.2, 1.0, 0.0, 0.4, 1.4, 0.7, -1.0, 0.0, 0.4, -1.2, 1.0, -0.4, -0.1,
    -2.6, -0.5, -0.2, 0.2, 1.7, 1.1, 0.7, 1.8, 0.6, 0.4, 0.6, 1.0, 0.6, 2.2, -1.4, 1.0, -0.1, -0.5, -1.3, -0.5,
])  # fmt: skip


def cells(n: int, seed: int) -> dict[str, np.ndarray]:
    """Return n cells, the same on any machine: ten whole numbers within `LIMITS`, area, soil, and cover 2 or 1.

    `wilderness` 1..4 and `soil` 1..40 are as in the codebook.
    """
    rng = seeds.generator(seed, "covertype-like")
    area = rng.choice(4, size=n, p=_AREA_SHARES)
    soil = np.empty(n, dtype=np.int64)
    for k, shares in enumerate(_SOIL_SHARES):
        here = np.flatnonzero(area == k)
        weights = np.array(list(shares.values()), dtype=float)
        soil[here] = rng.choice(list(shares), size=len(here), p=weights / weights.sum())
    height = _SOIL_HEIGHT[soil - 1] + _AREA_HEIGHT[area] + _HEIGHT_SD * rng.standard_normal(n)
    # Two cells of five look north-east, the others anywhere.
    aspect = np.where(rng.random(n) < 0.4, 50.0 + 50.0 * rng.standard_normal(n), 360.0 * rng.random(n)) % 360.0
    slope = _gamma(rng, 3.5, _SLOPE[area])
    water = np.where(rng.random(n) < 0.04, 0.0, _gamma(rng, 1.6, _WATER[area]))
    above_water = water * np.tan(np.radians(np.minimum(slope, 50.0))) * (0.6 + 0.5 * rng.standard_normal(n))
    remote = _gamma(rng, 2.0, np.ones(n))
    roads = _ROADS[area] * (0.5 * remote + 0.5 * _gamma(rng, 1.5, np.ones(n)))
    fire = _FIRE[area] * (0.5 * remote + 0.5 * _gamma(rng, 1.5, np.ones(n)))
    numbers = (height, aspect, slope, water, above_water, roads, *_hillshades(rng, aspect, slope), fire)
    whole = {
        name: np.clip(np.rint(values), *LIMITS[name]) for name, values in zip(covertype.NUMBERS, numbers, strict=True)
    }
    likes = rng.random(n) < expit(_score(whole, area, soil))
    return {**whole, "wilderness": area + 1, "soil": soil, "cover": np.where(likes, 2, 1)}


def _gamma(rng: np.random.Generator, shape: float, mean: np.ndarray) -> np.ndarray:
    return mean / shape * rng.standard_gamma(shape, size=len(mean))


def _hillshades(rng: np.random.Generator, aspect: np.ndarray, slope: np.ndarray) -> list[np.ndarray]:
    """The light that falls on a cell at 9 am, noon and 3 pm, 0 to 255; a cell's horizon takes or gives a little."""
    steep, shades = np.radians(slope), []
    for zenith, azimuth in np.radians(_SUN):
        lit = np.cos(zenith) * np.cos(steep) + np.sin(zenith) * np.sin(steep) * np.cos(azimuth - np.radians(aspect))
        shades.append(255.0 * lit + 4.0 * rng.standard_normal(len(slope)))
    return shades


def _score(cell: dict[str, np.ndarray], area: np.ndarray, soil: np.ndarray) -> np.ndarray:
    """The logit of class 2."""
    height, aspect, slope, water, _, roads, *_, fire = (cell[name] for name in covertype.NUMBERS)
    e = (height - 2950.0) / 280.0
    # Beyond what the regression saw, a polynomial says anything.
    e = np.clip(e, -3.5, 2.5)
    roads, fire, water, slope, north = roads / 1e3, fire / 1e3, water / 1e2, slope / 10.0, np.cos(np.radians(aspect))
    terrain = e * (-1.6 - 0.6 * e + 0.2 * e**2 - 0.1 * fire - 0.1 * e * roads - 0.2 * slope * north)
    place = -0.36 * roads + 0.08 * roads**2 + 0.29 * fire - 0.05 * fire**2 + 0.15 * water - 0.4 * north - 0.1 * slope
    return _STEEPNESS * (_INTERCEPT + terrain + place + _AREA_EFFECT[area] + _SOIL_EFFECT[soil - 1])
