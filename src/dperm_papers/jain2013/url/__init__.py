"""jain2013-url."""
