"""jain2013-queries."""
