"""Entry point of ``python -m trialwise``."""

import sys

from trialwise.cli import main

sys.exit(main())
