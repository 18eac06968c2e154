"""kifer2012-theorem4."""
