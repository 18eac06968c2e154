"""Figures and tables of dwork2018-agnostic: what they show, and in words."""

from dperm_papers.dwork2018.shared.drawing_looks import METHODS
from dperm_pipeline.figures.spec import DASHED, DOTTED, Figure, Panel, encoded, like
from dperm_pipeline.target import Catalogue, Target

_FORMS = encoded(
    "form",
    {
        "promised": like(METHODS["averaged", "paper"], label="averaging: promised (Corollary 4.7)"),
        "counts": ("exponential mechanism on counts: needed", "#0072B2", "o"),
        "pure": ("any private bit: least, δ = 0", "#D55E00", "s", DASHED),
        "approximate": ("any private bit: least, δ = ε/3", "#D55E00", "s"),
        "majority": ("without privacy: least", "#333333", "", "-"),
    },
)
_BOUND = like(("lower bound, (d/α² + d/(ε α))/640", "#777777", "", DOTTED), where={"form": "majority"}, y="bound")


def _over(name, x, title, **more):
    where = {"metric": "records", "over": name}
    return Panel((*_FORMS, _BOUND), x, title=title, where=where, same_y="none", **more)


agnostic = Figure(
    [
        [
            _over("alpha", "1/alpha", "{epsilon.first}, {d.first}", ylabel="records n"),
            _over("epsilon", "1/epsilon", "{alpha.first}, {d.first}", xlabel="1/ε"),
            _over("d", "d", "{alpha.first}, {epsilon.first}"),
        ]
    ],
    height=4.8,
    columns=2,
    notes=[
        "d points with noisy labels: from all points at Pr[y = b] = 1/2 + 2α to rare points without noise; n is what "
        "the worst of these laws needs for excess α with confidence 11/12. Replace-one. All values are exact."
    ],
)


FIGURES: Catalogue[str, Target] = {
    "dwork2018-agnostic": Target(
        "Section 2.1: the lower bound of agnostic learning",
        "Records n that any private prediction needs to learn noisy labels of d points, over 1/alpha, over 1/epsilon "
        "and over d: the stated lower bound with the constant 1/640, the least without privacy, what the exponential "
        "mechanism on label counts needs, and what averaging is promised to suffice with. All values are exact.",
        "Three panels of rising lines on logarithmic axes: the promise of averaging highest, steeper than the rest; "
        "the least of any private bit and what the counts need run above the dotted bound.",
        metrics=("records",),
    ),
}
