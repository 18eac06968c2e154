"""Every linear classifier of the library beside each other on a user's own table."""
