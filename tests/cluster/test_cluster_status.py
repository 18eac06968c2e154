"""The status command of the profile for any scheduler, held against a `squeue` that says what it is told to."""

import os
import subprocess
from pathlib import Path

import pytest
import together

STATUS = Path(__file__).parents[2] / "profiles/cluster-generic/status.sh"


@pytest.fixture
def status(tmp_path):
    """Return a function that asks for the status of a job of which squeue says so."""

    def ask(out, err="", code=0):
        squeue = tmp_path / "squeue"
        squeue.write_text('#!/bin/sh\nprintf "%s" "$OUT"\nprintf "%s" "$ERR" >&2\nexit $CODE\n')
        squeue.chmod(0o755)
        environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "OUT": out, "ERR": err}
        done = subprocess.run(
            ["sh", STATUS, "7"], env=environment | {"CODE": str(code)}, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    return ask


@together.over(
    "state",
    [
        "BOOT_FAIL", "CANCELLED", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED",
        "RECONFIG_FAIL", "REVOKED", "SPECIAL_EXIT", "TIMEOUT",
    ],
)  # fmt: skip
def test_every_final_state_but_one_is_a_failure(status, state):
    assert status(f"{state}\n") == "failed"


@pytest.mark.parametrize("state", ["CONFIGURING", "COMPLETING", "PENDING", "REQUEUED", "RUNNING", "SUSPENDED"])
def test_what_may_still_end_well_runs(status, state):
    assert status(f"{state}\n") == "running"


def test_a_warning_does_not_hide_the_state(status):
    warning = "squeue: warning: slurm.conf is older than the controller\n"
    assert status("COMPLETED\n", warning) == "success"
    assert status("NODE_FAIL\n", warning) == "failed"


def test_a_job_that_is_forgotten_and_a_controller_that_does_not_answer(status):
    assert status("", "slurm_load_jobs error: Invalid job id specified\n", code=1) == "failed"
    assert status("", "slurm_load_jobs error: Unable to contact slurm controller\n", code=1) == "running"
