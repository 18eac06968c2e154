"""The experiments of kifer2012."""

TITLE = "Private Convex Empirical Risk Minimization and High-dimensional Regression"
AUTHORS = "Kifer, Smith & Thakurta, COLT 2012"
