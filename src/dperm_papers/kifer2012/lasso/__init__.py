"""kifer2012-lasso."""
