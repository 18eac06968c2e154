"""jain2013-stability."""
