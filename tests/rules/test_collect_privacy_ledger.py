"""collect_privacy_ledger: both ledgers of the attacks, or a message and neither."""

from pathlib import Path

import fake_audits
import fake_rows
import pytest

from dperm_pipeline import stamps, tables
from dperm_pipeline.audits import attacks, ledger

PRIVACY, MUTANTS, ROWS = "results/tiny/privacy.parquet", "results/tiny/mutants.parquet", Path("rows.parquet")
KNEE, LINE, NOISE = (Path(f"audits/{name}.parquet") for name in ("knee", "line", "noise"))
# As of the plan: what the erratum is said of.
ERRATA = [
    {
        "paper": "kifer2012", "mechanism": "objective", "variant": "gamma", "calibration": "paper",
        "neighbours": "add_remove", "epsilon": 1.0, "delta": 0.0, "errata": "K3 K8",
    }
]  # fmt: skip


@pytest.fixture
def collect(run_script):
    fake_audits.write_attacks([fake_audits.attack()], KNEE)
    fake_audits.write_attacks([fake_audits.exact(1.4, calibration="paper", guarantee="none")], LINE)
    fake_audits.write_mutants([fake_audits.mutant()], NOISE)
    fake_rows.write(fake_rows.rows(datasets=("breast-cancer",), epsilons=(3.0,), repeats=3), ROWS)

    made = {str(path): stamps.fingerprint(tables.metadata(path)) for path in (KNEE, LINE, NOISE)}

    def run(what):
        return what(
            "collect_privacy_ledger",
            input={"attacks": [KNEE, LINE], "mutants": [NOISE], "rows": [ROWS]},
            output={"privacy": PRIVACY, "mutants": MUTANTS},
            params={
                "confidence": 0.95, "level": 0.05, "seed": 1, "errata": ERRATA, "made": made, "code": "digest",
            },
            wildcards={"scale": "tiny"},
        )  # fmt: skip

    return run


def test_the_verdicts(collect, run_script):
    collect(run_script)
    found = ledger.read(PRIVACY)
    attacked = found[found["verdict"] != "not audited"].set_index("calibration")["verdict"].to_dict()
    assert attacked == {"tight": "holds up", "paper": "refuted"}
    assert found.set_index("calibration").loc[["tight", "paper"], "errata"].groupby(level=0).max().to_dict() == {
        "tight": "", "paper": "K3 K8"
    }  # fmt: skip
    rest = found[found["verdict"] == "not audited"]
    assert len(rest) and set(rest["epsilon"]) == {3.0} and rest["audit_lower_bound"].isna().all()
    assert tables.read_records(MUTANTS, ledger.MUTANTS)["verdict"].tolist() == ["refuted"]
    assert tables.metadata(PRIVACY)["level"] == 0.05


@pytest.mark.parametrize("path", [KNEE, NOISE], ids=str)
def test_a_corrupt_attack_is_deleted_and_named(collect, run_script, path):
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    leaves = [PRIVACY] if path == NOISE else []
    with pytest.raises(SystemExit):
        collect(run_script)
    assert f"{path} is not a readable Parquet file" in run_script.log and "deleted" in run_script.log
    assert not path.exists()
    assert [out for out in (PRIVACY, MUTANTS) if Path(out).exists()] == leaves


def test_the_attacks_of_another_job_are_deleted_and_named(collect, run_script):
    """Good Parquet of the right columns in the wrong place."""
    tables.write_records([fake_audits.attack()], attacks.ATTACKS, KNEE, metadata={"audits": "others"})
    with pytest.raises(SystemExit):
        collect(run_script)
    assert f"{KNEE} holds what another job made" in run_script.log
    assert not KNEE.exists() and LINE.exists() and NOISE.exists()
