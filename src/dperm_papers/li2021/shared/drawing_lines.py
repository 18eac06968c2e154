"""The lines of li2021's figures of selection, prediction, retrieval and Adult."""

from dperm_pipeline.figures.looks import NONPRIVATE
from dperm_pipeline.figures.spec import Line, encoded

# The paper's red, green and blue, as far as they can be told apart with any colour vision; a marker each.
VS_PLUS, VS, ERM = ("#D55E00", "^"), ("#009E73", "s"), ("#0072B2", "o")
SHORT_DASHES, SHORT_DOTS, DASH_DOTTED = (0, (3.2, 1.4)), (0, (1, 1.3)), (0, (5, 1.2, 1, 1.2))
# What all lines have in common, and their entries of the legend.
LOOK = {"mew": 0.7, "ms": 2.6, "lw": 1.0, "zorder": 3}
KEY = {"mew": 0.7, "ms": 3.5, "lw": 1.0}


def pure(deltas):
    """Return which rows have delta = 0."""
    return deltas == 0


def gaussian(deltas):
    """Return which rows have the least delta above 0."""
    return deltas == deltas[deltas > 0].min()


def size(design):
    """Return n of a simulated design, `linear-500`."""
    return int(design.rsplit("-", 1)[1])


def model(design):
    """Return the model of a simulated design in words."""
    return design.rsplit("-", 1)[0].replace("poisson", "Poisson")


PUBLISHED = encoded(
    "variant",
    {
        "vs_plus-moor": ("NAPP-VS+, MOOR", *VS_PLUS),
        "vs-moor": ("NAPP-VS, MOOR", *VS),
        "erm-moor": ("NAPP-ERM, MOOR", *ERM),
        "vs_plus": Line("NAPP-VS+", *VS_PLUS, SHORT_DASHES, hollow=True),
        "vs": Line("NAPP-VS", *VS, SHORT_DASHES, hollow=True),
        "erm": Line("existing DP-ERM", *ERM, SHORT_DASHES, hollow=True),
    },
    where={"calibration": "paper"},
    key=KEY,
)
LASSOS = encoded(
    "variant",
    {
        "lasso": ("lasso(Λ), not private", NONPRIVATE.colour),
        "lasso-2": ("lasso(2Λ), not private", NONPRIVATE.colour, "", SHORT_DOTS),
    },
    key=KEY,
    more={"zorder": 2},
)
