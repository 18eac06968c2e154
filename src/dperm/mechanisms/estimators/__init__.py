"""The mechanisms as scikit-learn estimators; kept apart from their cores, which jobs load without scikit-learn."""
