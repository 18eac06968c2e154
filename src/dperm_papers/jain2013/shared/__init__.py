"""What several experiments of jain2013 share."""
