# Are results fit to be written, and does no other run go on here? `onstart` in common.smk then takes the lock.
import sys

from snakemake_interface_executor_plugins.settings import ExecMode

from dperm_pipeline import one_run

if workflow.exec_mode == ExecMode.DEFAULT:
    cores = workflow.resource_settings.cores
    if cores is not None and cores < 1:
        # Snakemake would wait for a core for ever.
        raise WorkflowError(
            f"--cores {cores}: no job runs on fewer than one; give 1 or more, or all (make: CORES=)"
        )
    # Not an error here: a dry run may look at anything.
    if why := one_run.unwritable(f"results/{PLAN.scale}"):
        print(f"warning: {why}", file=sys.stderr)
    for words in one_run.going_on():
        # To dry runs too: Snakemake's own refusal cannot tell a run that goes on from one that was killed.
        print(f"note: {words}", file=sys.stderr)
