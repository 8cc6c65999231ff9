"""The error a user can act on."""


class InputError(Exception):
    """Something the user supplied is wrong; the message says what and how to mend it.

    The command line prints the message alone and exits with 1. Anything else that
    is raised is a defect of this package and keeps its traceback.
    """
