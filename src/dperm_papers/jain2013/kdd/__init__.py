"""jain2013-kdd."""
