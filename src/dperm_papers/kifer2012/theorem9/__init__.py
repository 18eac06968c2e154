"""kifer2012-theorem9."""
