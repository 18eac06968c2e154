"""kifer2012-theorem2."""
