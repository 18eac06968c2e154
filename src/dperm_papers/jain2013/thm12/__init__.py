"""jain2013-thm12."""
