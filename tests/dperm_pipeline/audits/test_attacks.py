"""Audit jobs end to end with few draws: names, columns, seeds, and what each attack says that it assumed."""

import importlib
import itertools
import math

import audit_jobs
import pytest
import together
from scipy import stats

from dperm import mechanisms, noise
from dperm.audit import comparators, composed, constrained, exact, linear, mutants, napp, pairs, support
from dperm.audit.families import FAMILIES
from dperm.errors import ConfigError
from dperm_pipeline import tables
from dperm_pipeline.audits import attacks, ledger, modules
from dperm_pipeline.plan import audits

PURE, APPROXIMATE = {"variant": "gamma", "delta": 0.0}, {"variant": "gaussian", "delta": 1e-6}
EXACT_COLUMNS = ["exact_bound", "probability", "other_probability"]
COUNT_COLUMNS = ["hits", "tries", "other_hits", "other_tries"]
# Pairs with outputs on a line are attacked exactly; "line" is placed for that alone.
ATTACKED_BY = {
    "saturating": {"sampling"}, "knee": {"sampling"}, "random": {"sampling"},
    "line": {"exact law on a line"}, "pulled": {"exact law on a line"}, "linear": {"sampling", "exact law on a line"},
}  # fmt: skip


def job(pair, *rows, mechanism="objective", **changes):
    return audit_jobs.job(mechanism, pair, *(PURE | row for row in rows or [{}]), **changes)


def run(what, path):
    attacks.run([what], str(path), metadata={"made": "by a test"})
    return tables.read_records(path, attacks.schema(what))


# Names.


def test_the_pairs_of_the_plan_are_those_of_the_code():
    """One-pass SGD's pair is none for linear models; the random search has no builder in PAIRS."""
    plain = set(pairs.PAIRS) - {"first_example"} | {"random"}
    assert set(FAMILIES["linear"].pairs) == plain | set(constrained.PAIRS)
    for module in (comparators, composed, napp, support):
        assert FAMILIES[module.__name__.rpartition(".")[2]].pairs == module.PAIRS
    assert set(FAMILIES["mutants"].pairs) == set(mutants.GROUPS)
    for family in FAMILIES.values():
        assert len(set(family.pairs)) == len(family.pairs)


@together.over("name", FAMILIES)
def test_a_family_can_be_run(name):
    assert callable(importlib.import_module(FAMILIES[name].module).run)
    assert modules([{"family": name}]) == ("dperm_pipeline.audits.attacks", FAMILIES[name].module)


# Jobs.


@pytest.mark.parametrize("pair", ATTACKED_BY)
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_every_pair_gives_rows_that_fit(tmp_path, pair, neighbours):
    budgets = [{"neighbours": neighbours, "epsilon": epsilon} for epsilon in (0.5, 2.0)]
    found = run(job(pair, *budgets), tmp_path / "out.parquet")
    assert found.columns.tolist() == attacks.ATTACKS.names
    assert set(found["attack"]) == ATTACKED_BY[pair]
    assert len(found) == 2 * len(ATTACKED_BY[pair])
    assert set(found["epsilon"]) == {0.5, 2.0} and set(found["neighbours"]) == {neighbours}
    assert (set(found["pair"]), set(found["paper"]), set(found["mechanism"])) == ({pair}, {"kifer2012"}, {"objective"})
    assert found["white_box_p"].between(0, 1).all() and found["likelier"].isin(["data", "neighbour"]).all()
    # Nothing is half exact: counts or probabilities, never both.
    counted = found[found["attack"] == "sampling"]
    certain = found[found["attack"] != "sampling"]
    assert counted[EXACT_COLUMNS].isna().all(axis=None) and certain[COUNT_COLUMNS].isna().all(axis=None)
    # Three fifths of 400 draws a side certify, of both sides or of one.
    assert (counted["draws"] == 400).all() and (counted["tries"] + counted["other_tries"]).isin([480, 960]).all()
    assert (counted["hits"] <= counted["tries"]).all() and (counted["other_hits"] <= counted["other_tries"]).all()
    assert (certain["draws"] == 0).all() and certain[EXACT_COLUMNS].notna().all(axis=None)
    assert tables.metadata(tmp_path / "out.parquet")["made"] == "by a test"


def test_the_seed_decides_the_bytes(tmp_path):
    """Everything that is drawn follows the seed: counts and white-box test; an exact bound does not."""
    what = job("linear", {}, {"neighbours": "replace", **APPROXIMATE}, mechanism="output")
    first = run(what, tmp_path / "first.parquet")
    run(what, tmp_path / "again.parquet")
    other = run({**what, "seed": 2}, tmp_path / "other.parquet")
    assert (tmp_path / "first.parquet").read_bytes() == (tmp_path / "again.parquet").read_bytes()
    assert (tmp_path / "first.parquet").read_bytes() != (tmp_path / "other.parquet").read_bytes()
    drawn = first["draws"] > 0
    assert (first.loc[drawn, "hits"] != other.loc[drawn, "hits"]).all()
    # These p-values are cut at 1, where two seeds can meet.
    assert (first["white_box_p"] != other["white_box_p"]).any()
    assert first["exact_bound"].equals(other["exact_bound"])


def test_a_budget_is_attacked_the_same_whatever_stands_beside_it(tmp_path):
    """Streams are named: adding a budget, or moving it, changes no number of another's."""
    budgets = [{"epsilon": epsilon} for epsilon in (0.5, 2.0)]
    alone = [linear.run(job("linear", budget)) for budget in budgets]
    assert linear.run(job("linear", *budgets)) == alone[0] + alone[1]
    assert linear.run(job("linear", *reversed(budgets))) == alone[1] + alone[0]


def test_budgets_do_not_share_their_luck():
    """On one stream, all but equal budgets would give all but equal draws, and the same counts."""
    first, other = (linear.run(job("linear", {"epsilon": epsilon}))[1] for epsilon in (1.0, 1.0 + 1e-9))
    assert [first[name] for name in COUNT_COLUMNS] != [other[name] for name in COUNT_COLUMNS]


@pytest.mark.slow
def test_mutants_have_columns_of_their_own(tmp_path):
    what = {"family": "mutants", "group": "data", "draws": 200, "confidence": 0.95, "seed": 1}
    found = run(what, tmp_path / "first.parquet")
    run(what, tmp_path / "again.parquet")
    run({**what, "seed": 2}, tmp_path / "other.parquet")
    assert found.columns.tolist() == attacks.MUTANTS.names
    assert found["name"].tolist() == [mutant.name for mutant in mutants.GROUPS["data"]]
    assert set(found["group"]) == {"data"}
    assert (tmp_path / "first.parquet").read_bytes() == (tmp_path / "again.parquet").read_bytes()
    assert (tmp_path / "first.parquet").read_bytes() != (tmp_path / "other.parquet").read_bytes()


# What an attack assumed.


@pytest.mark.parametrize("calibration", mechanisms.REGISTRY["output"].calibrations)
@pytest.mark.parametrize("pair", ["linear", "random"])
def test_gaussian_noise_added_to_a_vector_is_attacked_by_its_model(tmp_path, calibration, pair):
    what = job(pair, PURE, APPROXIMATE, mechanism="output", calibration=calibration)
    found = run(what, tmp_path / "out.parquet")
    drawn = found[found["draws"] > 0].set_index("delta")
    assert drawn["model"].to_dict() == {0.0: "none", 1e-6: "gaussian"}
    assert drawn["attack"][0.0] == "sampling" and "model-based" in drawn["attack"][1e-6]
    # The exact attack on the same pair assumes nothing.
    assert set(found.loc[found["draws"] == 0, "model"]) <= {"none"}


def test_objective_perturbation_has_no_gaussian_trade_off(tmp_path):
    """Its noise is Gaussian; what it releases is not noise added to a vector."""
    found = run(job("saturating", APPROXIMATE), tmp_path / "out.parquet")
    assert (found["attack"].tolist(), found["model"].tolist()) == (["sampling"], ["none"])


# Exact attacks.


def test_a_tight_laplace_mechanism_spends_its_claim_and_no_more():
    """Output perturbation of a mean on a line adds Laplace noise of scale sensitivity/epsilon: log ratio epsilon."""
    for epsilon, neighbours in itertools.product((0.5, 1.0, 3.0), ("add_remove", "replace")):
        what = job("linear", {"epsilon": epsilon, "neighbours": neighbours}, mechanism="output")
        (found,) = [record for record in linear.run(what) if record["draws"] == 0]
        assert 0.999 * epsilon < found["exact_bound"] <= epsilon * (1 + exact.ROUNDING)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_the_classical_gaussian_formula_fails_past_epsilon_one(neighbours):
    """The exact epsilon of N(mu, 1) with the classical sigma is the root of its hockey stick, from SciPy's normal."""
    epsilon, delta = 10.0, 1e-2
    budget = {"epsilon": epsilon, "delta": delta, "variant": "gaussian", "neighbours": neighbours}
    what = job("linear", budget, mechanism="output", calibration="paper")
    (found,) = [record for record in linear.run(what) if record["draws"] == 0]
    mu = epsilon / math.sqrt(2 * math.log(1.25 / delta))

    def hockey_stick(e):
        return stats.norm.sf(e / mu - mu / 2) - math.exp(e) * stats.norm.sf(e / mu + mu / 2)

    assert hockey_stick(epsilon) > delta
    assert found["exact_bound"] > epsilon * 1.1
    # Never above the truth, and close to it.
    assert hockey_stick(found["exact_bound"]) >= delta * (1 - 1e-9)
    assert hockey_stick(found["exact_bound"] * 1.001) < delta


@pytest.mark.parametrize(
    ("neighbours", "law"),
    [("add_remove", PURE), ("replace", PURE), ("replace", {"variant": "gaussian", "delta": 1e-2})],
    ids=["add_remove-gamma", "replace-gamma", "replace-gaussian"],
)
def test_the_attack_on_a_line_is_exact(tmp_path, neighbours, law):
    """One row a budget; its bound is that of the event it names; the tight constants hold."""
    found = run(job("line", {"epsilon": 3.0, "neighbours": neighbours, **law}), tmp_path / "out.parquet")
    (row,) = found.itertuples()
    assert (row.attack, row.model, row.draws) == ("exact law on a line", "none", 0)
    quotient = (row.probability - law["delta"]) / row.other_probability
    assert row.exact_bound == pytest.approx(math.log(quotient), rel=1e-9)
    assert 2 < row.exact_bound <= 3.0 * (1 + exact.ROUNDING)
    assert row.guarantee == "proved_exact"


def test_from_jobs_to_verdicts(tmp_path):
    """Erratum K3: read as replace-one, the printed constants fail, and the ledger says so of them alone."""
    replace = {"neighbours": "replace", "epsilon": 3.0}
    for calibration in ("paper", "tight"):
        run(job("line", replace, calibration=calibration), tmp_path / f"{calibration}.parquet")
    out = tmp_path / "privacy.parquet"
    paths = [tmp_path / "paper.parquet", tmp_path / "tight.parquet"]
    ledger.collect(paths, [], out, confidence=0.95, level=0.05, metadata={})
    found = ledger.read(out).set_index("calibration")
    assert found["verdict"].to_dict() == {"paper": "refuted", "tight": "holds up"}
    assert found["guarantee"].to_dict() == {"paper": "none", "tight": "proved_exact"}
    assert found["p_holm"].to_dict() == {"paper": 0.0, "tight": 1.0}


# config/audits.yaml.


SCHEMA = "workflow/schemas/audits.schema.yaml"
BUDGET = "{calibration: tight, neighbours: replace, variant: gamma, epsilon: 1.0, delta: 0.0}"
DECLARED = f"""
attacks:
  - mechanism: objective
    paper: kifer2012
    family: linear
    pairs: {{tiny: [line], quick: [knee, saturating], paper: [random]}}
    budgets: [{BUDGET}]
mutants: {{tiny: [data], quick: [noise], paper: [noise, data]}}
"""


@pytest.fixture
def read(tmp_path, pytestconfig):
    def read(*edits):
        text = DECLARED
        for old, new in edits:
            assert text.count(old) == 1
            text = text.replace(old, new)
        path = tmp_path / "audits.yaml"
        path.write_text(text)
        return audits.read(path, pytestconfig.rootpath / SCHEMA)

    return read


def test_known_names_are_read(read):
    declared = read()
    settings = {"draws": {"tiny": 400, "quick": 500, "paper": 600}, "confidence": 0.9}
    jobs = audits.single(audits.jobs(declared, settings, "quick", 5, ["kifer2012"]))
    assert set(jobs) == {("objective.tight", "knee"), ("objective.tight", "saturating"), ("mutants", "noise")}
    assert jobs["objective.tight", "saturating"] == {
        **job("saturating", {"neighbours": "replace"}, draws=500, seed=5),
        "confidence": 0.9,
    }
    assert set(audits.jobs(declared, settings, "tiny", 5, [])) == {("mutants", "data")}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "mechanism: objective",
            "mechanism: objectve",
            "attacks.0.mechanism: 'objectve' is no mechanism; did you mean 'objective'?",
        ),
        ("family: linear", "family: linaer", "attacks.0.family: 'linaer' is no family; did you mean 'linear'?"),
        (
            "tiny: [line]",
            "tiny: [lime]",
            "attacks.0.pairs.tiny: 'lime' is no pair of the family 'linear'; did you mean 'line'?",
        ),
        # A pair of the code, but none of this family; nothing is near.
        (
            "[knee, sat",
            "[first_example, sat",
            "attacks.0.pairs.quick: 'first_example' is no pair of the family 'linear'; "
            "known: edge, knee, line, linear, pulled, random, saturating, sixteen",
        ),
        ("quick: [noise]", "quick: [noises]", "mutants.quick: 'noises' is no group of mutants; did you mean 'noise'?"),
        (
            "calibration: tight",
            "calibration: corrected",
            "attacks.0.budgets: calibration 'corrected' is not offered by 'objective': must be one of paper, tight, "
            "separate",
        ),
    ],
)
def test_an_unknown_name_is_one_line_with_the_nearest(read, tmp_path, old, new, said):
    with pytest.raises(ConfigError) as caught:
        read((old, new))
    assert str(caught.value) == f"{tmp_path / 'audits.yaml'}: {said}"


def test_all_unknown_names_are_said_at_once(read):
    with pytest.raises(ConfigError) as caught:
        read(("mechanism: objective", "mechanism: objectve"), ("[line]", "[lime]"), ("tiny: [data]", "tiny: [date]"))
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    for line, word in zip(lines, ("objective", "line", "data"), strict=True):
        assert line.endswith(f"did you mean '{word}'?")


@pytest.mark.parametrize(("variant", "delta", "law"), [("gamma", 1e-6, "gaussian"), ("gausian", 1e-6, "gaussian")])
def test_a_variant_that_is_not_the_law_is_refused_before_any_work(variant, delta, law):
    row = {"neighbours": "replace", "variant": variant, "epsilon": 1.0, "delta": delta}
    job = {"mechanism": "output", "rows": [row]}
    with pytest.raises(ConfigError, match=rf"variant '{variant}' of 'output' at delta=1e-06: the noise is '{law}'"):
        linear.run(job)


@pytest.mark.parametrize("delta", [0.0, pytest.param(1e-9, marks=pytest.mark.slow)])
def test_half_of_the_noise_in_the_code_is_named_in_the_ledger(monkeypatch, tmp_path, delta):
    """Exact bounds speak of the promised law; that the code draws another one is what the recovered noise shows."""
    law = noise.Gaussian if delta else noise.SphericalLaplace
    honest = law.sample
    monkeypatch.setattr(law, "sample", lambda self, shape, rng: 0.5 * honest(self, shape, rng))
    row = {"neighbours": "replace", "variant": "gaussian" if delta else "gamma", "delta": delta}
    attacks.run([job("line", row)], tmp_path / "line.parquet", metadata={})
    ledger.collect([tmp_path / "line.parquet"], [], tmp_path / "p.parquet", confidence=0.95, level=0.05, metadata={})
    assert ledger.read(tmp_path / "p.parquet")["reason"].str.contains(ledger.NOISE).all()
