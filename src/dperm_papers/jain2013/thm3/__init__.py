"""jain2013-thm3."""
