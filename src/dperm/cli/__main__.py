"""`python -m dperm.cli` is `dperm`."""

import sys

from dperm.cli import main

sys.exit(main())
