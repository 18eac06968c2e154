"""Four papers on differentially private learning, reproduced: the library.

The public names are imported when they are first asked for, so that a job loads only the mechanism it runs.
"""

import importlib

from dperm.catalogue import Catalogue

PUBLIC: Catalogue[str, str] = {
    "AdaptiveLedger": "dperm.mechanisms.prediction.ledger",
    "ApproximateMinima": "dperm.mechanisms.estimators.approximate_minima",
    "AveragedPrediction": "dperm.mechanisms.estimators.averaged",
    "BoxLearner": "dperm.mechanisms.prediction.learners",
    "Client": "dperm.client",
    "ExpMechSupport": "dperm.mechanisms.estimators.support",
    "ExpPW": "dperm.mechanisms.estimators.exppw",
    "IndependentFolds": "dperm.mechanisms.session.folds",
    "IntervalsLearner": "dperm.mechanisms.prediction.learners",
    "NAPP": "dperm.mechanisms.estimators.napp",
    "NoisyGradientDescent": "dperm.mechanisms.estimators.gradient",
    "ObjectivePerturbation": "dperm.mechanisms.estimators.objective",
    "OutputPerturbation": "dperm.mechanisms.estimators.output",
    "PINP": "dperm.mechanisms.estimators.interactive",
    "PerPerson": "dperm.mechanisms.estimators.per_person",
    "PreconditionedGradientDescent": "dperm.mechanisms.estimators.preconditioned",
    "PredictionLedger": "dperm.mechanisms.prediction.ledger",
    "PrivacySession": "dperm.mechanisms.session.open",
    "PrivateOneVsRest": "dperm.mechanisms.estimators.one_vs_rest",
    "PrivateSearchCV": "dperm.mechanisms.estimators.search",
    "PublicEncoder": "dperm.mechanisms.public.encoder",
    "RKHSGaussian": "dperm.mechanisms.estimators.rkhs",
    "SampAggSupport": "dperm.mechanisms.estimators.support",
    "SoftMajority": "dperm.mechanisms.estimators.soft_majority",
    "SparseRegression": "dperm.mechanisms.estimators.sparse",
    "StableERM": "dperm.mechanisms.estimators.stable_erm",
    "StableSGD": "dperm.mechanisms.estimators.stable_sgd",
    "StumpLearner": "dperm.mechanisms.prediction.learners",
    "Student": "dperm.mechanisms.estimators.student",
    "TDDL": "dperm.mechanisms.estimators.tddl",
    "TDIL": "dperm.mechanisms.estimators.tdil",
    "ThresholdLearner": "dperm.mechanisms.prediction.learners",
    "diagnostics": "dperm.mechanisms.diagnostics",
    "plan": "dperm.planning.plans",
    "privacy_card": "dperm.mechanisms.session.card",
}
__all__ = sorted(PUBLIC)


def __getattr__(name: str):
    if name in PUBLIC:
        return getattr(importlib.import_module(PUBLIC[name]), name)
    raise AttributeError(f"module 'dperm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *PUBLIC])
