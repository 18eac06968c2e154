"""jain2013-constants."""
