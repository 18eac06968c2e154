"""jain2013-thm8."""
