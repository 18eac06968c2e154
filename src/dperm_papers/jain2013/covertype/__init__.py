"""jain2013-covertype."""
