"""End in a sentence where Python is too old; this file itself runs on any."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit(
        "This is Python " + sys.version.split()[0] + ", and 3.11 or newer is needed. "
        "Install one, and write its name for python3 in the command, as python3.12."
    )
