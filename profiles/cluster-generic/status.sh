#!/bin/sh
# Is a job running, was it a success, or has it failed? Slurm's answer in the three words that Snakemake knows.
# A controller that does not answer says nothing of the job: it counts as running, and is asked again.
state=$(squeue --noheader --states=all --format=%T --jobs="$1" 2>&1) || case $state in
    *"Invalid job id"*) state=FORGOTTEN ;;
    *) state=UNKNOWN ;;
esac
case $state in
    COMPLETED) echo success ;;
    BOOT_FAIL | CANCELLED | DEADLINE | FAILED | FORGOTTEN | NODE_FAIL | OUT_OF_MEMORY | PREEMPTED | TIMEOUT) echo failed ;;
    *) echo running ;;
esac
