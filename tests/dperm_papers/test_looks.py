"""The looks of the papers' methods: whoever reads one figure reads the others, in any colour vision."""

import together

from dperm_papers.dwork2018.shared import drawing_looks as dwork2018
from dperm_papers.jain2013.shared import drawing_looks as jain2013
from dperm_papers.kifer2012.shared import drawing_looks as kifer2012

PAPERS = (kifer2012, jain2013, dwork2018)
# What one figure draws together.
TOGETHER = [
    (kifer2012, {"objective", "output", "cms11", "approximate_minima", "gradient"}),
    *((jain2013, {name, "rkhs_gaussian", "explicit_output", "cms11"}) for name in ("tddl", "pinp", "tdil")),
]
# Of dwork2018: a mechanism looks the same in all calibrations, and stands beside the private model.
PREDICTIONS = {"soft_majority", "averaged", "stable_erm", "stable_sgd", "exppw"}


@together.over("paper, names", TOGETHER)
def test_methods_of_a_figure_differ_in_colour_for_any_colour_vision_and_in_marker(paper, names):
    """Luminance separates any two methods by 0.02 or hue does by construction (Okabe & Ito); markers always do."""
    looks = [look for (mechanism, *rest), look in paper.METHODS.items() if mechanism in names and len(rest) == 1]
    variants = [look for key, look in jain2013.METHODS.items() if len(key) == 3]
    okabe_ito = {"#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"}
    assert {look.colour for look in looks} <= okabe_ito
    assert len({look.colour for look in looks}) == len({look.marker for look in looks}) == len(looks) >= 6
    assert len({look.marker for look in (*looks, *variants)}) == len(looks) + len(variants)


def test_private_predictions_differ_among_each_other_and_from_the_private_model():
    own = {
        mechanism: {(look.colour, look.marker) for (name, _), look in dwork2018.METHODS.items() if name == mechanism}
        for mechanism in PREDICTIONS
    }
    model = dwork2018.look("objective", "tight")
    looks = [*(look for found in own.values() for look in found), (model.colour, model.marker)]
    assert len(looks) == 6 == len({colour for colour, _ in looks}) == len({marker for _, marker in looks})


def test_a_method_looks_the_same_in_all_papers():
    every = [(key, look) for paper in PAPERS for key, look in paper.METHODS.items()]
    assert len({key for key, _ in every}) == len({*every}) < len(every)


def test_a_method_that_no_paper_has_is_drawn_in_black_by_its_name():
    found = kifer2012.look("mine", "tight")
    assert (found.label, found.colour) == ("mine, tight", "#000000") and found == kifer2012.look("mine", "tight", "x")
    assert found.marker not in {look.marker for paper in PAPERS for look in paper.METHODS.values()}
