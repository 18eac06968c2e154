"""Errata of attacked budgets: from config/audits.yaml to the ledger, past the audit jobs; what they are said of."""

import copy

import fake_audits
import pytest

from dperm.errors import ConfigError
from dperm_pipeline import audits, config_files, plan
from dperm_pipeline.audits import ledger
from dperm_pipeline.plan import audits as audit_jobs
from dperm_pipeline.report import errata

PAPERS = ("dwork2018", "jain2013", "kifer2012", "li2021")
# P-errata that no attacked budget runs as printed, and why.
UNATTACKED = {
    "N8": "the literal augmentation, whose noise has no closed law",
    "J12": "of Hall et al., not of a mechanism here",
}
# Refuted where no paper slips: our own control, and a classical formula outside its range.
NO_SLIP = {
    *((name, "half-noise") for name in ("averaged", "stable_erm", "stable_gaussian", "stable_sgd")),
    *((name, "gaussian") for name in ("output", "stable_gaussian")),
}


@pytest.fixture(scope="module")
def root(pytestconfig):
    return pytestconfig.rootpath


@pytest.fixture(scope="module")
def declared(root):
    return config_files.read(root / "config/audits.yaml", root / "workflow/schemas/audits.schema.yaml")


@pytest.fixture(scope="module")
def known(root):
    return errata.read(root / "docs/errata.md")


def power_of_ten(text):
    """Of 10⁻⁶ or 0.01."""
    return float(text.replace("10⁻", "1e-").translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")))


def budgets(declared):
    return [(attack, budget) for attack in declared["attacks"] for budget in attack["budgets"]]


def test_the_errata_are_those_of_the_document_and_of_the_mechanisms_paper(declared, known):
    named = [(attack["paper"], name) for attack, budget in budgets(declared) for name in budget.get("errata", [])]
    assert len(named) > 90
    assert all(known[name].paper == paper for paper, name in named)


def test_every_erratum_on_privacy_is_named_by_an_attack(declared, known):
    named = {name for _, budget in budgets(declared) for name in budget.get("errata", [])}
    assert {name for name, entry in known.items() if entry.privacy} - named == set(UNATTACKED)


def test_what_the_audit_refutes_has_an_erratum(declared, root):
    """The rows of docs/audit.md are those of a whole run at scale paper."""
    page = (root / "docs/audit.md").read_text(encoding="utf-8")
    relations = {"add/remove": "add_remove", "replace-one": "replace"}
    refuted = set()
    for line in page.splitlines():
        cells = errata.cells_of(line)
        if len(cells) == 9 and cells[0] == "refuted":
            mechanism, calibration, neighbours, variant, epsilon, delta = cells[1:7]
            refuted.add((mechanism, calibration, relations[neighbours], variant, float(epsilon), power_of_ten(delta)))
    assert len(refuted) > 50
    keys = ("calibration", "neighbours", "variant", "epsilon", "delta")
    of = {(a["mechanism"], *(b[key] for key in keys)): b.get("errata", []) for a, b in budgets(declared)}
    without = {key for key in refuted if not of[key]}
    assert {(mechanism, variant) for mechanism, _, _, variant, _, _ in without} == NO_SLIP
    assert {key[1] for key in refuted} == {"paper"}


def test_an_erratum_changes_no_audit_job(declared):
    """Neither what it is given nor the code that it depends on: no attack runs again for a word."""
    settings = {"draws": dict.fromkeys(plan.SCALES, 5), "confidence": 0.9}
    bare = copy.deepcopy(declared)
    for _, budget in budgets(bare):
        budget.pop("errata", None)
    assert bare != declared
    for scale in plan.SCALES:
        jobs = audit_jobs.jobs(declared, settings, scale, 1, PAPERS)
        assert jobs and jobs == audit_jobs.jobs(bare, settings, scale, 1, PAPERS)
    for job in audit_jobs.single(jobs).values():
        loaded = plan.modules(*audits.modules([job]))
        assert not {"dperm_pipeline.audits.ledger", "dperm_pipeline.plan.audits"} & set(loaded)
    assert audit_jobs.errata(bare, PAPERS) == []
    assert {budget["paper"] for budget in audit_jobs.errata(declared, ["jain2013"])} == {"jain2013"}


@pytest.mark.parametrize("wrong", ["[]", "[K3, K3]", "[k3]", "[X1]", "K3", "[K0]"])
def test_what_is_no_list_of_ids_is_refused(root, tmp_path, wrong):
    text = (root / "config/audits.yaml").read_text(encoding="utf-8")
    path = tmp_path / "audits.yaml"
    path.write_text(text.replace("errata: [D1]", f"errata: {wrong}", 1))
    with pytest.raises(ConfigError, match="errata"):
        config_files.read(path, root / "workflow/schemas/audits.schema.yaml")


def test_budgets_that_were_not_attacked_have_the_errata_of_their_own_law(tmp_path):
    """Another law, delta or calibration of the same mechanism has none of them."""
    key = {"paper": "kifer2012", "mechanism": "objective", "calibration": "tight", "neighbours": "add_remove"}
    said = [
        {**key, "variant": "gamma", "epsilon": 1.0, "delta": 0.0, "errata": "K2 K8"},
        {**key, "variant": "gaussian", "epsilon": 1.0, "delta": 1e-6, "errata": "K1 K2"},
        {**key, "variant": "gamma", "epsilon": 7.0, "delta": 0.0, "errata": "K3"},
    ]
    attacks = fake_audits.write_attacks(
        [fake_audits.attack(), fake_audits.attack(variant="gaussian", delta=1e-6)], tmp_path / "attacks.parquet"
    )
    rows = fake_audits.released(tmp_path / "rows.parquet", epsilons=(0.5, 1.0))
    out = tmp_path / "privacy.parquet"
    ledger.collect([attacks], [rows], out, confidence=0.95, level=0.05, metadata={}, errata=said)
    found = ledger.read(out)
    own = found[(found["mechanism"] == "objective") & (found["calibration"] == "tight")]
    own = own[own["neighbours"] == "add_remove"]
    assert set(own["epsilon"]) == {0.5, 1.0} and set(own["verdict"]) >= {"not audited"}
    assert dict(own.groupby("variant")["errata"].agg(set)) == {"gamma": {"K2 K8"}, "gaussian": {"K1 K2"}}
    others = found.drop(own.index)
    assert len(others) and set(others["errata"]) == {""}
