#!/bin/sh
# Is a job running, was it a success, or has it failed? Slurm's answer in the three words that Snakemake knows.
# A controller that does not answer says nothing of the job: it counts as running, and is asked again.
ask() { squeue --noheader --states=all --format=%T --jobs="$1"; }
# Warnings are no part of the answer; why there is none is asked apart.
state=$(ask "$1" 2>/dev/null) || case $(ask "$1" 2>&1) in
    *"Invalid job id"*) state=FORGOTTEN ;;
    *) state=UNKNOWN ;;
esac
case $state in
    COMPLETED) echo success ;;
    # BOOT_FAIL, FAILED, LAUNCH_FAILED, NODE_FAIL, RECONFIG_FAIL; SPECIAL_EXIT is held for good, REVOKED gone elsewhere.
    *FAIL* | CANCELLED | DEADLINE | FORGOTTEN | OUT_OF_MEMORY | PREEMPTED | REVOKED | SPECIAL_EXIT | TIMEOUT) echo failed ;;
    *) echo running ;;
esac
