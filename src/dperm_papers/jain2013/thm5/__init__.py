"""jain2013-thm5."""
