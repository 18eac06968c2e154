"""kifer2012-theorem8."""
