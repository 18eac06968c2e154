"""Print every benchmark as a table; fits run in this one process, with one thread."""

import argparse
import os

# Before NumPy is imported: Clarabel's and scikit-learn's own pools read it then.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = "1"


def main() -> None:
    """Run the benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "--full",
        action="store_true",
        help="time all 20 Clarabel fits, not 3, and the ledger at scale paper, not quick",
    )
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 0.1], help="budgets (default: 1 0.1)")
    arguments = parser.parse_args()

    from bench import (
        answers,
        audit,
        coordinate_descent,
        descents,
        exppw,
        first_use,
        kernel,
        kernel_laws,
        ledger,
        napp,
        newton,
        samp_agg,
        service,
        sparse,
        subsets,
        tddl,
        workflow,
    )

    newton.report(arguments.epsilon, full=arguments.full)
    coordinate_descent.report(full=arguments.full)
    subsets.report(full=arguments.full)
    kernel.report()
    kernel_laws.report()
    sparse.report()
    samp_agg.report()
    napp.report()
    tddl.report()
    exppw.report()
    answers.report()
    descents.report()
    ledger.report()
    service.report()
    audit.report(full=arguments.full)
    first_use.report()
    workflow.report()


if __name__ == "__main__":
    main()
