"""What a user of the command can mend."""


class Wrong(Exception):
    """What a user can mend: said in one line."""
