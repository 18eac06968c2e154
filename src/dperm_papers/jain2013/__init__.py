"""The experiments of jain2013."""
