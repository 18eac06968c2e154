"""The experiments of li2021."""

TITLE = (
    "Noise-Augmented Privacy-Preserving Empirical Risk Minimization with Dual-purpose Regularizer and Privacy "
    "Budget Retrieval and Recycling"
)
AUTHORS = "Li & Liu, 2021"
